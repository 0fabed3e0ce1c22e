import { setImmediate } from 'node:timers/promises';
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
  for (let i = 20; i < 60; i += 1) {
    const committed = engine.commit(appendBatch(CONTEXT, textAt(i)));
    // Each time at another point of the commit.
    for (let turns = i - 20; turns > 0; turns -= 1) await setImmediate();
    const damaged = shelf;
    // What only readers ask for: a commit that met the damage itself would wait until it is mended.
    damaged.listContexts = () => {
      throw new ShelfDamaged('as a test wants it');
    };
    expect((await engine.listContexts({ limit: 5 })).rows).toHaveLength(1);
    expect(shelf).not.toBe(damaged);
    await committed;
  }

  for (let i = 0; i < 60; i += 1) {
    const bytes = await engine.getBlob(hashBytes(Buffer.from(textAt(i))));
    expect(Buffer.from(bytes ?? []).toString()).toBe(textAt(i));
  }
  expect((await engine.upkeep.check({ repair: false })).problems).toEqual([]);
  await engine.close();
});
