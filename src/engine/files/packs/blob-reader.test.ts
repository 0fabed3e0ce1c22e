import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { hashBytes } from '../../../base/hash.ts';
import { mapShelves } from '../../../testing/map-shelves.ts';
import { MemoryIo } from '../../../testing/disk/memory-io.ts';
import { openFilesEngine } from '../open-files-engine.ts';

it('keeps what is read in memory, but not what is read once', async () => {
  const io = new MemoryIo();
  const shelves = mapShelves();
  const open = (): ReturnType<typeof openFilesEngine> =>
    openFilesEngine('/store', { io, shelves, checkpointMs: Infinity });
  const bytes = Buffer.from('said once '.repeat(100));
  const hash = hashBytes(bytes);
  const writer = await open();
  await writer.putBlob({ chunks: Readable.from([bytes]) });
  await writer.close();
  const engine = await open();
  expect(Buffer.from((await engine.viewBlob(hash, 'once')) ?? [])).toEqual(bytes);
  expect(engine.peekBlob?.(hash)).toBeUndefined();
  await engine.viewBlob(hash);
  expect(engine.peekBlob?.(hash)).toBeDefined();
  await engine.close();
});
