import { expect, it } from 'vitest';
import { packFile } from '../../src/engine/files/packs/pack-file.ts';
import { createStore } from '../../src/store/create-store.ts';
import { failure } from '../../src/testing/engine-suite/fixture.ts';
import { Planter } from './planter.ts';
import { buildSample } from './sample-store.ts';

const BACKUP = '/data/backup';

/*
 * Invariant: one damaged record stops a backup, which says where and what to do, and what it says helps. The one before stays
 * as it was.
 */
it('a backup of a damaged store says where the damage is and what to do, and that helps', async () => {
  const sample = await buildSample();
  const { engine, disk } = sample;
  await engine.upkeep.backup(BACKUP);
  const planter = new Planter(sample);
  const { offset, hash } = planter.recordOf(1, 'better words');
  await planter.flip(packFile(1), offset + 50);
  const whole = disk.contentOf(`${BACKUP}/${packFile(1)}`)!.length;
  const error = await failure(engine.upkeep.backup('/data/fresh'), 'CORRUPT');
  expect(error.data).toEqual({ file: packFile(1), offset });
  expect(error.message).toContain(`${packFile(1)} at byte ${offset}`);
  expect(error.message).toContain('quipu verify');
  expect(disk.contentOf(`${BACKUP}/${packFile(1)}`)!.length).toBe(whole);
  const { problems } = await engine.upkeep.check({ repair: false });
  expect(problems).toContainEqual(expect.objectContaining({ offset, id: hash }));
  await createStore(engine).blobs.erase(hash, { reason: 'damaged', everywhere: true });
  for (const to of [BACKUP, '/data/fresh']) {
    expect((await engine.upkeep.backup(to)).files).toBeGreaterThan(0);
  }
  expect((await engine.upkeep.check({ repair: false })).problems).toEqual([]);
});
