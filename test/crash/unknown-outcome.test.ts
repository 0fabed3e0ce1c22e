import { expect, it } from 'vitest';
import type { Batch } from '../../src/engine/batch.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { crashImages } from '../../src/testing/disk/crash-states.ts';
import { FaultIo } from '../../src/testing/disk/fault-io.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { appendBatch, createContext } from '../../src/testing/engine-suite/fixture.ts';
import { openStore } from './open-store.ts';
import { ProcessIo } from './process-io.ts';

/*
 * Invariant: a commit whose outcome nobody knows is there as a whole after the next opening, or not at all.
 * Its frame may have reached the disk, so until then nothing is written over the bytes that it names.
 */

const LARGE_BYTES = 300_000;
const KNOWN = 1;

function largeBatch(seed: number): Batch {
  const text = Array.from({ length: LARGE_BYTES / 10 }, (_, at) => ((at * seed) % 99_991) + 1e9);
  return appendBatch(1n as never, text.join(''));
}

/** A store with a pack for large blobs that has room, and what it is opened with next. */
async function makeStore(): Promise<MemoryIo> {
  const disk = new MemoryIo();
  const engine = await openStore(disk, () => 1000);
  await createContext(engine);
  await engine.commit(largeBatch(7));
  await engine.close();
  return disk.copy();
}

async function* after(
  failing: Promise<unknown>,
  bytes: Uint8Array = new Uint8Array(),
): AsyncGenerator<Uint8Array> {
  await failing.catch(() => undefined);
  yield bytes;
}

async function readAll(engine: Engine): Promise<number> {
  const head = await engine.getHead(1n as never);
  const turns = await engine.walkBack(head?.head ?? (0n as never), 10);
  for (const { payload } of turns) await engine.getBlob(payload as never);
  return turns.length;
}

it('leaves alone what a commit wrote whose outcome is unknown', async () => {
  const start = await makeStore();
  const watched = new FaultIo(start.copy());
  const quiet = await openStore(watched, () => 2000);
  const opened = watched.trace.length;
  await quiet.commit(largeBatch(11));
  const at = watched.trace.findIndex(
    ({ name, path }, index) => index >= opened && name === 'write' && path.endsWith('.wal'),
  );

  // The frame fits into the half of the write that an error leaves on the disk.
  const disk = start.copy();
  const process = new ProcessIo(new FaultIo(disk, { at: at + 1, kind: 'EIO', times: 'once' }));
  const engine = await openStore(process, () => 2000);
  const unknown = { code: 'IO', data: { outcome: 'unknown' } };
  const failing = engine.commit(largeBatch(11));
  // Begun before, and large after: it looks for a pack to write to when the other has left it.
  const late = engine.putBlob({ chunks: after(failing, largeBatch(13).blobs?.[0]?.bytes) });
  await expect(failing).rejects.toMatchObject(unknown);
  await expect(late).rejects.toMatchObject(unknown);
  await process.kill();

  const found: number[] = [];
  for (const { disk: left } of crashImages(disk.snapshot(), 8, 1)) {
    found.push(await readAll(await openStore(left, () => 3000)));
  }
  expect(new Set(found)).toEqual(new Set([KNOWN, KNOWN + 1]));
});
