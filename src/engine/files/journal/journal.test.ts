import { afterEach, describe, expect, it, vi } from 'vitest';
import { encodeFrame } from '../../../format/journal-frame.ts';
import { MemoryIo } from '../../../testing/disk/memory-io.ts';
import { Journal, SEGMENTS } from './journal.ts';
import { StoreFiles } from '../disk/store-files.ts';

const OPTIONS = { segmentBytes: 1 << 20, growBytes: 1 << 16, sync: true };

afterEach(() => {
  vi.restoreAllMocks();
});

/** A journal on a disk that takes `syncMs` for each sync, and which of them this thread was to make. */
async function openJournal(syncMs: number[]): Promise<{ journal: Journal; here: boolean[] }> {
  const here: boolean[] = [];
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const disk = MemoryIo.from(new Map(SEGMENTS.map((name) => [name, new Uint8Array()])));
  const open = disk.open.bind(disk);
  disk.open = async (path, mode) => {
    const file = await open(path, mode);
    file.sync = async (asked = false) => {
      here.push(asked);
      now += syncMs.shift() ?? 0;
    };
    return file;
  };
  const files = new StoreFiles(disk, '');
  return { journal: await Journal.open(files, OPTIONS, { segment: 0, position: 0 }), here };
}

function frame(seq: number): Uint8Array {
  return encodeFrame(seq, [{ kind: 'remove', path: 'a' }]);
}

describe('where a frame is synced', () => {
  it('is the calling thread, for one that is alone on a quick disk', async () => {
    const { journal, here } = await openJournal([]);
    await journal.append(1, frame(1), true);
    await journal.append(2, frame(2), true);
    await journal.append(3, frame(3), false);
    await journal.append(4, frame(4), true);
    expect(here).toEqual([false, true, false, true]);
  });

  it('is another thread again after one slow sync, until the disk is quick', async () => {
    const { journal, here } = await openJournal([0, 5, 0, 0]);
    for (const seq of [1, 2, 3, 4]) await journal.append(seq, frame(seq), true);
    expect(here).toEqual([false, true, false, true]);
  });
});
