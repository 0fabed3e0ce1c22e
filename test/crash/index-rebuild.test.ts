import { expect, it } from 'vitest';
import { toContextId } from '../../src/base/brand.ts';
import { hashBytes } from '../../src/base/hash.ts';
import { ShelfDamaged } from '../../src/engine/files/index/shelf.ts';
import type { Shelf } from '../../src/engine/files/index/shelf.ts';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { MapShelf } from '../../src/testing/map-shelf.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { appendBatch } from '../../src/testing/engine-suite/fixture.ts';
import { STORE } from './open-store.ts';
import { slowIo } from './slow-io.ts';

/*
 * Invariant: an index that is built again while commits come has all of them.
 */

const CONTEXT = toContextId(1);

function textAt(number: number): string {
  return `turn ${number} `.repeat(20);
}

it('has what was committed while it was being built', async () => {
  let shelf: Shelf = new MapShelf();
  const shelves = {
    open: () => shelf,
    create: () => new MapShelf(),
    install: (fresh: Shelf) => (shelf = fresh),
  };
  const engine = await openFilesEngine(STORE, {
    io: slowIo(new MemoryIo()),
    shelves,
    cacheBytes: 0,
    checkpointMs: Infinity,
  });
  await engine.commit({ contexts: [{ do: 'create' }] });
  for (let i = 0; i < 20; i += 1) await engine.commit(appendBatch(CONTEXT, textAt(i)));
  const damaged = shelf;
  damaged.findBlob = () => {
    throw new ShelfDamaged('as a test wants it');
  };
  // Not in memory any more, so that the shelf is asked.
  const unknown = hashBytes(Buffer.from('never stored'));
  const asking = engine.hasBlob(unknown);
  for (let i = 20; i < 60; i += 1) await engine.commit(appendBatch(CONTEXT, textAt(i)));
  expect(await asking).toBe(false);
  expect(shelf).not.toBe(damaged);

  for (let i = 0; i < 60; i += 1) {
    const bytes = await engine.getBlob(hashBytes(Buffer.from(textAt(i))));
    expect(Buffer.from(bytes ?? []).toString()).toBe(textAt(i));
  }
  expect((await engine.upkeep.check({ repair: false })).problems).toEqual([]);
  await engine.close();
});
