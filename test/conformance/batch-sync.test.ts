import { expect, it } from 'vitest';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { createStore } from '../../src/store/create-store.ts';
import { FaultIo } from '../../src/testing/disk/fault-io.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { mapShelves } from '../../src/testing/map-shelves.ts';

const TURNS = Array.from({ length: 1000 }, (_, n) => ({
  type: 'note',
  payload: `payload ${n}`,
  idempotencyKey: `key ${n}`,
}));

/** Invariant: a batch costs one sync of the journal, however many turns and keys it has. */
it('makes a batch of 1,000 turns with their own keys durable with one sync', async () => {
  const io = new FaultIo(new MemoryIo());
  // No checkpoint comes in between: it syncs the files themselves.
  const options = { io, shelves: mapShelves(), checkpointMs: Infinity };
  await using store = createStore(await openFilesEngine('/store', options));
  const { contexts } = store;
  const { id } = await contexts.create();
  const syncsOf = async (work: () => Promise<unknown>): Promise<number> => {
    const before = io.trace.length;
    await work();
    return io.trace.slice(before).filter(({ name }) => name === 'sync').length;
  };

  expect(await syncsOf(() => contexts.appendBatch(id, TURNS))).toBe(1);
  expect(await syncsOf(() => contexts.appendBatch(id, TURNS))).toBe(0);
  expect(await contexts.get(id)).toMatchObject({ headDepth: 999 });
  // The counter counts: one by one, each of ten turns has its own sync.
  const oneByOne = async (): Promise<void> => {
    for (let n = 0; n < 10; n += 1) await contexts.append(id, { type: 'note', payload: n });
  };
  expect(await syncsOf(oneByOne)).toBe(10);
});
