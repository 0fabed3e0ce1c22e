import { describe, expect, it } from 'vitest';
import { HEAD_RECORD_BYTES } from '../../../format/head-record.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import { MemoryIo } from '../../../testing/disk/memory-io.ts';
import type { Io } from '../../io.ts';
import { HEADS_FILE } from '../heads/head-table.ts';
import { TURN_RECORDS } from '../turns/turn-table.ts';
import { StoreFiles } from './store-files.ts';

function bytesAt(path: string, offset: number, text: string): JournalWrite {
  return { kind: 'bytes', path, offset, data: Buffer.from(text) };
}

async function textOf(files: StoreFiles, name: string): Promise<string> {
  return Buffer.from(await files.read(name, 0, 100)).toString();
}

/** The same, but for one method. */
function replacing<T extends object, K extends keyof T>(given: T, method: K, other: T[K]): T {
  return new Proxy(given, {
    get(target, name) {
      if (name === method) return other;
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => Reflect.apply(value, target, args);
    },
  });
}

/** The first who comes to it waits until it is let go. */
function makeGate(): { pass: () => Promise<void>; letGo: () => void } {
  let letGo = (): void => undefined;
  let gate: Promise<void> | undefined = new Promise((resolve) => {
    letGo = resolve;
  });
  const pass = async (): Promise<void> => {
    const held = gate;
    gate = undefined;
    await held;
  };
  return { pass, letGo };
}

/** The next open has the file, and hands it out only when it is let go. */
function holdNextOpen(disk: MemoryIo): { io: Io; letGo: () => void } {
  const { pass, letGo } = makeGate();
  const io = replacing<Io, 'open'>(disk, 'open', async (path, mode) => {
    const file = await disk.open(path, mode);
    await pass();
    return file;
  });
  return { io, letGo };
}

/** The next write reaches its file only when it is let go. */
function holdNextWrite(disk: MemoryIo): { io: Io; letGo: () => void } {
  const { pass, letGo } = makeGate();
  const io = replacing<Io, 'open'>(disk, 'open', async (path, mode) => {
    const file = await disk.open(path, mode);
    return replacing(file, 'write', async (bytes, position) => {
      await pass();
      return file.write(bytes, position);
    });
  });
  return { io, letGo };
}

/** A disk that takes no write until there is room. */
function fillDisk(disk: MemoryIo): { io: Io; makeRoom: () => void } {
  let isFull = true;
  const io = replacing<Io, 'open'>(disk, 'open', async (path, mode) => {
    const file = await disk.open(path, mode);
    return replacing(file, 'write', async (bytes, position) => {
      if (isFull) throw Object.assign(new Error('no room'), { code: 'ENOSPC' });
      return file.write(bytes, position);
    });
  });
  return { io, makeRoom: () => void (isFull = false) };
}

/** Lets everything happen that waits for nothing else. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

function headsOf(first: number, count: number, fill: string): JournalWrite {
  const data = Buffer.alloc(count * HEAD_RECORD_BYTES, fill);
  return { kind: 'bytes', path: HEADS_FILE, offset: first * HEAD_RECORD_BYTES, data };
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

  it('shows writes that a full disk did not take, and makes them once there is room', async () => {
    const disk = MemoryIo.from(new Map([[`/s/${TURN_RECORDS.name}`, Buffer.from('0123')]]));
    const full = fillDisk(disk);
    const files = new StoreFiles(full.io, '/s');
    await files.apply([bytesAt(TURN_RECORDS.name, 2, 'abc'), bytesAt(TURN_RECORDS.name, 5, 'd')]);
    expect(files.behind).toBe(true);
    expect(await textOf(files, TURN_RECORDS.name)).toBe('01abcd');
    expect(await files.size(TURN_RECORDS.name)).toBe(6);
    expect(await textOf(new StoreFiles(disk, '/s'), TURN_RECORDS.name)).toBe('0123');
    full.makeRoom();
    await files.catchUp();
    expect(files.behind).toBe(false);
    expect(await textOf(new StoreFiles(disk, '/s'), TURN_RECORDS.name)).toBe('01abcd');
  });

  it('syncs what was being written while it synced the file', async () => {
    const disk = new MemoryIo();
    await disk.mkdir('/s');
    const { io, letGo } = holdNextWrite(disk);
    const files = new StoreFiles(io, '/s');
    const writing = files.apply([bytesAt('log', 0, 'text')]);
    await settle();
    await files.syncAll();
    letGo();
    await writing;
    const synced: string[] = [];
    disk.watch(({ name, path }) => {
      if (name === 'sync') synced.push(path);
    });
    await files.syncAll();
    expect(synced).toEqual(['/s/log']);
  });

  it('never writes an old head over a newer one', async () => {
    const disk = new MemoryIo();
    await disk.mkdir('/s');
    const { io, letGo } = holdNextWrite(disk);
    const files = new StoreFiles(io, '/s');
    // Two runs of heads: while the first is being written, the second one changes.
    await files.apply([headsOf(1, 1, 'a'), headsOf(10, 1, 'a')]);
    const synced = files.syncAll();
    await settle();
    // So many that they go to their file at once.
    const written = files.apply([headsOf(10, 1100, 'b')]);
    await settle();
    letGo();
    await Promise.all([synced, written]);
    await files.syncAll();
    const heads = new StoreFiles(disk, '/s');
    const head = await heads.read(HEADS_FILE, 10 * HEAD_RECORD_BYTES, HEAD_RECORD_BYTES);
    expect(Buffer.from(head).toString()).toBe('b'.repeat(HEAD_RECORD_BYTES));
  });
});
