import { describe, expect, it } from 'vitest';
import type { JournalWrite } from '../../format/journal-frame.ts';
import { MemoryIo } from '../../testing/disk/memory-io.ts';
import type { Io } from '../io.ts';
import { StoreFiles } from './store-files.ts';

function bytesAt(path: string, offset: number, text: string): JournalWrite {
  return { kind: 'bytes', path, offset, data: Buffer.from(text) };
}

async function textOf(files: StoreFiles, name: string): Promise<string> {
  return Buffer.from(await files.read(name, 0, 100)).toString();
}

/** The next open has the file, and hands it out only when it is let go. */
function holdNextOpen(disk: MemoryIo): { io: Io; letGo: () => void } {
  let letGo = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let isNext = true;
  const open: Io['open'] = async (path, mode) => {
    const file = await disk.open(path, mode);
    const waits = isNext;
    isNext = false;
    if (waits) await gate;
    return file;
  };
  const io = new Proxy<Io>(disk, {
    get(target, name) {
      if (name === 'open') return open;
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]): unknown => Reflect.apply(value, target, given);
    },
  });
  return { io, letGo };
}

describe('StoreFiles', () => {
  it('never writes to a file that was removed while it was being opened', async () => {
    const disk = MemoryIo.from(new Map([['/s/log', Buffer.from('old')]]));
    const { io, letGo } = holdNextOpen(disk);
    const files = new StoreFiles(io, '/s');
    const reading = textOf(files, 'log');
    await files.apply([{ kind: 'remove', path: 'log' }]);
    letGo();
    await reading;
    await files.apply([bytesAt('log', 0, 'new')]);
    expect(await textOf(new StoreFiles(disk.copy(), '/s'), 'log')).toBe('new');
  });

  it('syncs the name of a file that somebody else may have just made', async () => {
    const disk = new MemoryIo();
    await disk.mkdir('/s');
    await disk.syncDir('/');
    // A process that died: the file is there, its name not durable.
    await new StoreFiles(disk, '/s').apply([bytesAt('sub/log', 0, 'text')]);
    const files = new StoreFiles(disk, '/s');
    await files.apply([bytesAt('sub/log', 0, 'text')]);
    const synced: string[] = [];
    disk.watch(({ name, path }) => {
      if (name === 'syncDir') synced.push(path);
    });
    await files.syncAll();
    expect(synced.toSorted()).toEqual(['/s', '/s/sub']);
  });

  it('removes a file whose folder never was, and can still sync', async () => {
    const disk = new MemoryIo();
    await disk.mkdir('/s');
    const files = new StoreFiles(disk, '/s');
    await files.apply([{ kind: 'remove', path: 'never/doc.json' }]);
    expect(files.behind).toBe(false);
    await expect(files.syncAll()).resolves.toBeUndefined();
  });
});
