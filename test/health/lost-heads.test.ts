import { describe, expect, it } from 'vitest';
import { toContextId, toTurnId } from '../../src/base/brand.ts';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { Planter } from './planter.ts';
import { buildSample, openSample, ROOT, type Sample } from './sample-store.ts';

// The head table and the small files around it, damaged or gone while the store is closed. `openSample` brings no index:
// what the heads are made from then are the turns.

const HEADS = 'turns/heads.tbl';

async function closedSample(): Promise<Sample> {
  const sample = await buildSample();
  await sample.engine.close();
  return sample;
}

async function reopen(sample: Sample, plant: (planter: Planter) => Promise<void>): Promise<Engine> {
  await plant(new Planter(sample));
  return (await openSample(sample.disk.copy())).engine;
}

async function contextsOf(engine: Engine): Promise<unknown[]> {
  const found: unknown[] = [];
  for (let id = 1; id <= 5; id += 1) {
    found.push(
      await engine.getContext(toContextId(id)).catch(({ code }: { code: string }) => code),
    );
  }
  return found;
}

describe('heads that are lost together with the index', () => {
  it.each(['the file is gone', 'records are damaged'])(
    'come back from turns when %s',
    async (how) => {
      const whole = await contextsOf((await openSample((await closedSample()).disk.copy())).engine);
      const engine = await reopen(await closedSample(), async (planter) => {
        if (how === 'the file is gone') await planter.remove(HEADS);
        else for (const id of [1, 2, 3, 4, 5]) await planter.flip(HEADS, id * 64 + 20);
      });
      expect(await contextsOf(engine)).toEqual(Array.from({ length: 5 }, () => 'CORRUPT'));
      const { problems } = await engine.upkeep.check({ repair: true });
      const told = problems.map(({ id, what }) => `${id}: ${what}`).join('\n');
      expect(told).toMatch(/^2: .*its first turn stands for both$/m);
      expect(told).toMatch(/^4: .*it has no turn of its own/m);
      // A fork without a turn of its own is not guessed, and that is told for good; a turn left open is ended by the next opening.
      expect(await contextsOf(engine)).toEqual([
        whole[0],
        whole[1],
        undefined,
        'CORRUPT',
        expect.objectContaining({ openTurn: 27n }),
      ]);
      const { problems: left } = await engine.upkeep.check({ repair: false });
      expect(left).toEqual([expect.objectContaining({ id: '4', severity: 'lost' })]);
      await engine.close();
    },
  );
});

describe('what the index knows of lost heads', () => {
  it('survives building the index again', async () => {
    const { engine, disk, shelf } = await buildSample();
    const before = await contextsOf(engine);
    await new Planter({ engine, disk, shelf }).settle();
    await new Planter({ engine, disk, shelf }).flip(HEADS, 4 * 64 + 20);
    await engine.reindex();
    await engine.upkeep.check({ repair: true });
    expect((await engine.upkeep.check({ repair: false })).problems).toEqual([]);
    expect(await contextsOf(engine)).toEqual(before);
    await engine.close();
  });
});

describe('small files', () => {
  it('are made again when they are missing', async () => {
    const sample = await closedSample();
    const engine = await reopen(sample, async (planter) => {
      for (const name of ['mark', 'a.wal', 'b.wal', 'checkpoint-a'])
        await planter.remove(`journal/${name}`);
    });
    expect((await engine.upkeep.check({ repair: false })).problems).toEqual([]);
    await engine.close();
  });

  it('give the line of FORMAT that is missing, and do without one that is damaged', async () => {
    const sample = await closedSample();
    const planter = new Planter(sample);
    const line = planter.read('FORMAT').toString().trimEnd();
    await planter.flip('FORMAT', 20);
    const { engine } = await openSample(sample.disk.copy());
    await engine.upkeep.check({ repair: true });
    expect((await engine.upkeep.check({ repair: false })).problems).toEqual([]);
    await engine.close();
    await planter.remove('FORMAT');
    const refused: unknown = await openAt(sample.disk.copy()).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'CORRUPT' });
    expect(String(refused)).toContain(line);
  });

  it('of open turns do not touch a turn that is sealed', async () => {
    const sample = await buildSample();
    const file = new Planter(sample).read('turns/open/27');
    await sample.engine.close();
    const engine = await reopen(sample, async (planter) => {
      await planter.write('turns/open/8', 0, file);
      await planter.write('turns/open/notes.txt', 0, file);
    });
    const before = await engine.getTurn(toTurnId(8));
    const { problems } = await engine.upkeep.check({ repair: true });
    expect(problems.map(({ file: name, severity }) => [name, severity])).toEqual([
      ['turns/open/notes.txt', 'stale'],
      ['turns/open/8', 'stale'],
    ]);
    expect((await engine.upkeep.check({ repair: false })).problems).toEqual([]);
    expect(await engine.getTurn(toTurnId(8))).toEqual(before);
    await engine.close();
  });
});

function openAt(disk: MemoryIo): Promise<Engine> {
  return openFilesEngine(ROOT, { io: disk, create: false });
}
