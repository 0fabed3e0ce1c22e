import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { TurnRow } from '../../src/engine/rows.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { append, blobOf, createContext } from '../../src/testing/engine-suite/fixture.ts';
import { lyingIo } from '../crash/lying-io.ts';
import { openStore } from '../crash/open-store.ts';
import { CHECK_TIME } from '../crash/oracle.ts';
import { assertClean, collect, large } from './gc-scene.ts';

/** A store of a dead large blob, collected while `seed` is put during sync `wanted` of its journal. */
async function putDuringSync(seed: number, wanted: number): Promise<Uint8Array | undefined> {
  const disk = new MemoryIo();
  let syncs = -Infinity;
  let put: Promise<TurnRow> | undefined;
  const io = lyingIo(disk, {
    async sync(file, path) {
      if (path.endsWith('.wal')) syncs += 1;
      if (syncs === wanted && put === undefined) {
        put = append(engine, id, large(seed));
        for (let turns = 0; turns < 30; turns += 1) await setImmediate();
      }
      await file.sync();
    },
  });
  const engine = await openStore(io, () => 1000, 1024 * 1024);
  const { id } = await createContext(engine);
  await append(engine, id, 'kept');
  await engine.commit({ blobs: [blobOf(large(1))] });
  syncs = 0;
  await collect(engine);
  await put;
  const found = await engine.getBlob(blobOf(large(seed)).hash);
  await assertClean(engine);
  await assertClean(await openStore(disk.copy(), () => CHECK_TIME));
  await engine.close();
  return found;
}

/** A megabyte compares a thousand times faster so than by `toEqual`. */
function isLarge(seed: number, found: Uint8Array | undefined): boolean {
  return Buffer.compare(found ?? Buffer.alloc(0), blobOf(large(seed)).bytes) === 0;
}

/** Large blobs put while the frame that closes their pack is on its way to the disk go elsewhere. */
it.each([1, 2, 3, 4, 5])('a put during sync %i of a collection is not lost', async (wanted) => {
  expect(isLarge(2, await putDuringSync(2, wanted))).toBe(true);
});

/** Chunks found in a pack whose removal is on its way to the disk are written again. */
it.each([1, 2, 3, 4, 5])('a put during sync %i of what is collected is whole', async (wanted) => {
  expect(isLarge(1, await putDuringSync(1, wanted))).toBe(true);
});
