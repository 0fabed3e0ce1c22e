import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { TURN_RECORD_BYTES } from '../../src/format/turn-record.ts';
import type { Store } from '../../src/store/store.ts';
import { damagesOf, FILE_KINDS, makeScene, meet, newFolder, open } from './file-damage.ts';
import type { FileDamage, Scene, Verdict } from './file-damage.ts';

// Invariant: whichever file of a store is damaged, however, what is read is what was stored or CORRUPT, and `verify` is
// ok only when everything can be read; also after a repair. Method: `file-damage.ts`. The soak has more of each.

let closed: Scene;
let killed: Scene;

beforeAll(async () => {
  closed = await makeScene('closed');
  killed = await makeScene('killed');
});

afterAll(() => {
  closed[Symbol.dispose]();
  killed[Symbol.dispose]();
});

const ENDS: readonly Verdict[] = ['harmless', 'rebuilt', 'lost in part'];
/** What else becomes of a file that is damaged while everything else is whole. */
const OTHER_ENDS: Readonly<Record<string, readonly Verdict[]>> = {
  journal: [...ENDS, 'not opened'],
  FORMAT: ['rebuilt', 'not opened'],
  checkpoint: ['harmless'],
  mark: ['harmless'],
  heads: ['harmless', 'rebuilt'],
  'collected turns': ['lost in part'],
  'published document': ['harmless', 'rebuilt'],
  index: ['harmless'],
  lock: ['harmless'],
  owner: ['harmless'],
  reserve: ['harmless'],
};

/** What a killed store needs, and a closed one does not. */
const AFTER_A_KILL = new Set(['journal', 'checkpoint', 'mark', 'heads', 'open turn', 'owner']);

function quick(scene: Scene): FileDamage[] {
  return [...damagesOf(scene, 1)].filter(({ what }) => !/emptied|by a byte/.test(what));
}

async function meetAll(scene: Scene, damages: readonly FileDamage[]): Promise<Set<string>> {
  const kinds = new Set<string>();
  for (const damage of damages) {
    const verdict = await meet(scene, damage);
    const ends = OTHER_ENDS[damage.kind] ?? ENDS;
    expect(ends, `${damage.file}, ${damage.what}`).toContain(verdict);
    kinds.add(damage.kind);
  }
  return kinds;
}

describe('a damaged file', { timeout: 120_000 }, () => {
  it('is detected, harmless or rebuilt, and verify says so', async () => {
    const kinds = new Set([
      ...(await meetAll(closed, quick(closed))),
      ...(await meetAll(
        killed,
        quick(killed).filter(({ kind }) => AFTER_A_KILL.has(kind)),
      )),
    ]);
    expect([...kinds].sort()).toEqual(Object.keys(FILE_KINDS).sort());
  });

  it('does not cost the text of an open turn when the slot of its record is hit', async () => {
    const [open = ''] = readdirSync(join(killed.folder, 'turns/open'));
    const slot = Number(open) * TURN_RECORD_BYTES;
    for (const at of [slot, slot + 40, slot + TURN_RECORD_BYTES - 1]) {
      const plant = (path: string): void => {
        const bytes = readFileSync(path);
        bytes[at] = (bytes[at] ?? 0) ^ 8;
        writeFileSync(path, bytes);
      };
      const damage = { kind: 'turns', file: 'turns/turns.log', what: `byte ${at}`, plant };
      expect(await meet(killed, damage)).toBe('harmless');
    }
  });

  it('is told until the next collection, if it says which turns were collected', async () => {
    const folder = join(newFolder(), 'store');
    onTestFinished(() => rmSync(join(folder, '..'), { recursive: true, force: true }));
    cpSync(closed.folder, folder, { recursive: true });
    rmSync(join(folder, 'turns/collected.map'));
    // A checkpoint that is written meanwhile still knows that there was a list.
    for (const _ of [1, 2]) {
      const { store } = await open(folder);
      const { problems } = await store.maintain.verify();
      expect(problems).toContainEqual(
        expect.objectContaining({ file: 'turns/collected.map', severity: 'lost' }),
      );
      await store.contexts.create();
      await store.close();
    }
    const { store } = await open(folder);
    await store.maintain.gc({ graceMs: 0 });
    expect(await store.maintain.verify()).toMatchObject({ ok: true, problems: [] });
    await store.close();
  });

  it('is caught when verify forgets what cannot be read after a repair', async () => {
    const zeroed = [...damagesOf(closed, 0)].find(
      ({ kind, what }) => kind === 'pack' && what === 'zeroed',
    );
    if (zeroed === undefined) throw new Error('no pack was zeroed');
    const forgetful = (store: Store): Store => {
      const { maintain } = store;
      const verify: typeof maintain.verify = async (options) => {
        const report = await maintain.verify(options);
        return { ...report, ok: report.quarantined.length > 0 || report.ok };
      };
      return { ...store, maintain: { ...maintain, verify } };
    };
    await expect(meet(closed, zeroed, forgetful)).rejects.toThrow('verify is ok, and');
    expect(await meet(closed, zeroed)).toBe('lost in part');
  });
});
