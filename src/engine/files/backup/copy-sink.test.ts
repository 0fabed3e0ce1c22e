import { describe, expect, it } from 'vitest';
import {
  decodeFrameBody,
  decodeFrameHeader,
  FRAME_HEADER_BYTES,
} from '../../../format/journal-frame.ts';
import { MemoryIo } from '../../../testing/disk/memory-io.ts';
import { StoreFiles } from '../disk/store-files.ts';
import { CopySink, REDO_PLACE } from './copy-sink.ts';

const BYTES = Buffer.from('0123456789');

async function openCopy(): Promise<StoreFiles> {
  const io = new MemoryIo();
  await io.mkdir('/copy');
  await io.mkdir('/copy/journal');
  return new StoreFiles(io, '/copy');
}

/** What the frame would do. */
async function changesOf(sink: CopySink): Promise<string[]> {
  await sink.writeFrame(1);
  const { files } = sink;
  const bytes = await files.read('journal/b.wal', REDO_PLACE.position, 100_000);
  const header = decodeFrameHeader(bytes, files.frameSalt)!;
  const writes = decodeFrameBody(header, bytes.subarray(FRAME_HEADER_BYTES))!;
  return writes.map(({ kind, path }) => `${kind} ${path}`);
}

describe('a sink', () => {
  it('writes straight only what lies beyond what counts', async () => {
    const files = await openCopy();
    const sink = new CopySink(files, new Map([['turns/turns.log', 14]]));
    await sink.put('turns/turns.log', 20, BYTES);
    expect(await changesOf(sink)).toEqual([]);
    await sink.put('turns/turns.log', 10, BYTES);
    expect(await changesOf(sink)).toEqual(['bytes turns/turns.log']);
    const written = await files.read('turns/turns.log', 0, 100);
    expect(Buffer.from(written).toString('latin1')).toBe(`${'\0'.repeat(14)}4567890123456789`);
    expect(sink.copiedBytes).toBe(20);
    expect(sink.touched.size).toBe(1);
  });

  it('changes nothing at once in files that count as a whole', async () => {
    const files = await openCopy();
    const sink = new CopySink(files, new Map());
    await sink.put('logs/a', 0, BYTES);
    await sink.replace('a.json', BYTES);
    await sink.remove('b.json');
    expect(await files.size('logs/a')).toBe(0);
    expect(await files.size('a.json')).toBe(0);
    expect(await changesOf(sink)).toEqual(['bytes logs/a', 'whole a.json']);
  });

  it('writes everything straight into a folder that is not in use', async () => {
    const files = await openCopy();
    const sink = new CopySink(files);
    await sink.put('logs/a', 0, BYTES);
    await sink.replace('a.json', BYTES);
    expect(await files.size('logs/a')).toBe(10);
    expect(await files.size('a.json')).toBe(10);
    await sink.remove('a.json');
    expect(await files.size('a.json')).toBe(0);
  });
});
