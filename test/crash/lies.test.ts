import { describe, expect, it } from 'vitest';
import { toContextId } from '../../src/base/brand.ts';
import { flipBytes } from '../../src/testing/disk/damage.ts';
import { planFaults } from '../../src/testing/disk/fault-plan.ts';
import { appendBatch } from '../../src/testing/engine-suite/fixture.ts';
import { makeSmallStore, meetAll, startsOfPages } from './damage-rig.ts';
import { explore } from './explore.ts';
import { FaultLife, type FaultStep } from './fault-life.ts';
import { type Lies, LIES, lyingIo } from './lying-io.ts';

/*
 * The rig is worth what it finds. Invariant: every engine with a known bug, made by a disk that lies to
 * it, breaks a promise, and the rig says so.
 */

const CONTEXT = toContextId(1);
const LIFE: readonly FaultStep[] = [
  { contexts: [{ do: 'create' }] },
  appendBatch(CONTEXT, 'one'),
  appendBatch(CONTEXT, 'two '.repeat(100)),
];

async function meetFaults(lies: Lies, isMeant: (operation: string) => boolean): Promise<void> {
  const clean = await FaultLife.start();
  await clean.live(LIFE);
  for (const plan of planFaults(clean.trace)) {
    if (!isMeant(clean.trace[plan.at - 1]?.name ?? '')) continue;
    const life = await FaultLife.start(plan, (io) => lyingIo(io, lies));
    await life.live(LIFE);
    await life.cutPower(8);
  }
}

describe('the rig finds an engine that', () => {
  it.each(['noJournalSync', 'noFileSync'] as const)('does not sync: %s', async (lie) => {
    const wrap = (io: Parameters<typeof lyingIo>[0]) => lyingIo(io, LIES[lie]);
    const lived = { seed: 4, steps: 30, kills: 0, statesPerPoint: 8, nestedPerPoint: 0, wrap };
    await expect(explore(lived)).rejects.toThrow(/crash before/);
    await expect(explore({ ...lived, wrap: (io) => io, statesPerPoint: 1 })).resolves.toBeDefined();
  });

  it('does not sync what it recovered', async () => {
    // The lie holds while the store is being opened, and ends with the third checkpoint: the first two
    // are the one that was found, written once more to both files.
    const wrap = (io: Parameters<typeof lyingIo>[0]) => {
      let checkpoints = 0;
      return lyingIo(io, {
        async write(file, path, { bytes, position }) {
          if (path.includes('checkpoint-')) checkpoints += 1;
          return file.write(bytes, position);
        },
        sync: async (file, path) =>
          checkpoints < 3 && !path.includes('/journal/') ? undefined : file.sync(),
      });
    };
    const lived = { seed: 7, steps: 30, kills: 10, statesPerPoint: 8, nestedPerPoint: 4, wrap };
    await expect(explore(lived)).rejects.toThrow(/crash before/);
  });

  it('goes on after a failed sync', async () => {
    const lies = LIES.goesOnAfterFailedSync;
    await expect(meetFaults(lies, (name) => name === 'sync')).rejects.toThrow(
      /right states|damaged|gone/,
    );
  });

  it('takes a short write for a whole one', async () => {
    const lies = LIES.ignoresShortWrites;
    await expect(meetFaults(lies, (name) => name === 'write')).rejects.toThrow(
      /right states|damaged|gone/,
    );
  });

  it.each(['cutsAtFirstBadFrame', 'neverMarks'] as const)(
    'takes damage for the end: %s',
    async (lie) => {
      const store = await makeSmallStore('killed', (io) => lyingIo(io, LIES[lie]));
      const flips = flipBytes(store.disk, { seed: 1, only: (path) => path.endsWith('.wal') });
      await expect(meetAll(store, startsOfPages(flips, 60))).rejects.toThrow(/xor[^]*answers/);
    },
  );
});
