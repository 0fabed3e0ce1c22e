import { expect, it } from 'vitest';
import { hashBytes } from '../../base/hash.ts';
import { MemoryIo } from '../../testing/disk/memory-io.ts';
import { MapShelf } from '../../testing/map-shelf.ts';
import { mapShelves } from '../../testing/map-shelves.ts';
import type { Engine } from '../engine.ts';
import type { Shelf, ShelfSource } from './index/shelf.ts';
import { openFilesEngine } from './open-files-engine.ts';

const BATCHES = 3;
/** More than the index takes in at a time. */
const BATCH_BLOBS = 2500;

function open(io: MemoryIo, shelves: ShelfSource = mapShelves()): Promise<Engine> {
  return openFilesEngine('/store', { io, shelves, checkpointMs: Infinity });
}

/** A shelf that outlives its process. */
function keeping(shelf: Shelf): ShelfSource {
  return { open: () => shelf, create: () => shelf, install: (fresh) => fresh };
}

/** The process dies once this many batches have reached the shelf. */
function dyingAfter(shelf: Shelf, batches: number): Shelf {
  let left = batches;
  return new Proxy(shelf, {
    get(target, name) {
      if (name === 'apply' && left-- <= 0) throw new Error('killed');
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

it('an index that was killed while it caught up goes on where it was', async () => {
  const disk = new MemoryIo();
  const shelf = new MapShelf();
  await (await open(disk, keeping(shelf))).close();
  // Another index hears of what comes now; this one must read it from the journal.
  const engine = await open(disk);
  const bytesOf = (batch: number, n: number): Uint8Array => Buffer.from(`${batch} ${n}`);
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const blobs = Array.from({ length: BATCH_BLOBS }, (_, n) => bytesOf(batch, n));
    await engine.commit({ blobs: blobs.map((bytes) => ({ hash: hashBytes(bytes), bytes })) });
  }
  const left = disk.copy();
  await expect(open(left.copy(), keeping(dyingAfter(shelf, 1)))).rejects.toThrow('killed');
  const again = await open(left.copy(), keeping(shelf));
  for (let batch = 0; batch < BATCHES; batch += 1) {
    expect(await again.hasBlob(hashBytes(bytesOf(batch, 17)))).toBe(true);
  }
  expect((await again.stats()).blobs).toBe(BATCHES * BATCH_BLOBS);
});
