import { describe, expect, it } from 'vitest';
import { encodeFrame, type JournalWrite } from '../../../format/journal-frame.ts';
import { MemoryIo } from '../../../testing/disk/memory-io.ts';
import { StoreFiles } from '../disk/store-files.ts';
import { CopySink, REDO_PLACE, RedoFull } from './copy-sink.ts';

const WRITES: readonly JournalWrite[] = [
  { kind: 'bytes', path: 'turns/heads.tbl', offset: 64, data: Buffer.alloc(64, 1) },
  { kind: 'remove', path: 'blobs/pack-000001.pack' },
  { kind: 'whole', path: 'a.json', data: Buffer.from('{}') },
  { kind: 'bytes', path: 'logs/a', offset: 0, data: Buffer.alloc(1_500_000, 2) },
];

async function createFrame(limit?: number): Promise<{ frame: CopySink; files: StoreFiles }> {
  const io = new MemoryIo();
  await io.mkdir('/copy');
  await io.mkdir('/copy/journal');
  const files = new StoreFiles(io, '/copy');
  return { frame: new CopySink(files, new Map(), limit), files };
}

describe('the redo frame', () => {
  it.each([0, 1, 4])('has the bytes of a frame of the journal with %i writes', async (count) => {
    const { frame, files } = await createFrame();
    for (const write of WRITES.slice(0, count)) await frame.takeNoted(write);
    await frame.writeFrame(7);
    const expected = Buffer.from(encodeFrame(7, WRITES.slice(0, count)));
    const size = await files.size('journal/b.wal');
    const written = await files.read('journal/b.wal', REDO_PLACE.position, size);
    expect(expected.equals(written)).toBe(true);
  });

  it('begins after the place where a reader that changes segments looks', async () => {
    const { frame, files } = await createFrame();
    await frame.writeFrame(1);
    const start = await files.read('journal/b.wal', 0, REDO_PLACE.position);
    expect(start.every((byte) => byte === 0)).toBe(true);
  });

  it('refuses what does not fit', async () => {
    const { frame } = await createFrame(100);
    await expect(
      frame.takeNoted({ kind: 'whole', path: 'a', data: new Uint8Array(100) }),
    ).rejects.toThrow(RedoFull);
  });
});
