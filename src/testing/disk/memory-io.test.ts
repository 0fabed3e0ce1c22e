import { describe, expect, it } from 'vitest';
import { crashImages } from './crash-states.ts';
import { MemoryIo } from './memory-io.ts';

const BYTES = (text: string): Uint8Array => new TextEncoder().encode(text);

async function put(disk: MemoryIo, path: string, text: string, sync = true): Promise<void> {
  const file = await disk.open(path, 'create');
  await file.write(BYTES(text), 0);
  if (sync) await file.sync();
  await file.close();
}

/** Every file as text: what a process finds that looks now. */
function view(disk: MemoryIo): Record<string, string> {
  const text = (path: string): string => new TextDecoder().decode(disk.contentOf(path)?.toBytes());
  return Object.fromEntries(disk.paths().map((path) => [path, text(path)]));
}

/** The disk after a crash that takes all it can. */
function afterPowerCut(disk: MemoryIo): MemoryIo {
  const [worst] = crashImages(disk.snapshot(), 1, 1);
  return worst!.disk;
}

/** All that can be left, as a set of views. */
function outcomes(disk: MemoryIo): Set<string> {
  const views = [...crashImages(disk.snapshot(), 3000, 7)].map((image) =>
    JSON.stringify(view(image.disk)),
  );
  return new Set(views);
}

describe('MemoryIo', () => {
  it('answers like a file system', async () => {
    const disk = new MemoryIo();
    await disk.mkdir('/store');
    await disk.mkdir('store');
    await put(disk, 'store/b', 'hello');
    await put(disk, 'store/a', '');
    expect(await disk.list('/store')).toEqual(['a', 'b']);
    expect(await disk.stat('store/b')).toEqual({ kind: 'file', size: 5 });
    expect(await disk.stat('store')).toEqual({ kind: 'folder', size: 0 });
    expect(await disk.stat('nowhere/b')).toBeUndefined();
    await disk.rename('store/b', 'store/a');
    await disk.remove('store/missing');
    expect(view(disk)).toEqual({ 'store/a': 'hello' });
  });

  it('fails with the codes of the operating system', async () => {
    const disk = new MemoryIo();
    await put(disk, 'file', 'x');
    await expect(disk.open('missing', 'read')).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(disk.open('missing/x', 'create')).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(disk.open('file/x', 'create')).rejects.toMatchObject({ code: 'ENOTDIR' });
    await expect(disk.open('/', 'read')).rejects.toMatchObject({ code: 'EISDIR' });
    await expect(disk.mkdir('file')).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(disk.list('missing')).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(disk.rename('missing', 'x')).rejects.toMatchObject({ code: 'ENOENT' });
    const file = await disk.open('file', 'read');
    await expect(file.write(BYTES('y'), 0)).rejects.toMatchObject({ code: 'EBADF' });
    await file.close();
    await expect(file.size()).rejects.toMatchObject({ code: 'EBADF' });
  });

  it('gives the lock to one holder, and back after a crash', async () => {
    const disk = new MemoryIo();
    const lock = await disk.lock('lock', 'first');
    await expect(disk.lock('lock', 'second')).rejects.toMatchObject({
      code: 'LOCKED',
      data: { what: 'lock', owner: 'first' },
    });
    await disk.copy().lock('lock', 'after a kill');
    await afterPowerCut(disk).lock('lock', 'after a power cut');
    await lock.release();
    await disk.lock('lock', 'second');
    await lock.release();
    await expect(disk.lock('lock', 'third')).rejects.toMatchObject({ code: 'LOCKED' });
  });

  it('keeps a file only when both its bytes and its name were synced', async () => {
    const disk = new MemoryIo();
    await put(disk, 'named', 'bytes', false);
    await disk.syncDir('/');
    await put(disk, 'unnamed', 'bytes');
    expect(view(afterPowerCut(disk))).toEqual({ named: '' });
    expect(view(disk.copy())).toEqual({ named: 'bytes', unnamed: 'bytes' });
    await disk.syncDir('/');
    expect(view(afterPowerCut(disk))).toEqual({ named: '', unnamed: 'bytes' });
  });

  it('may lose or keep a rename as a whole, and each remove on its own', async () => {
    const disk = new MemoryIo();
    for (const [path, text] of [
      ['a', 'new'],
      ['b', 'old'],
      ['c', 'c'],
    ] as const)
      await put(disk, path, text);
    await disk.syncDir('/');
    await disk.rename('a', 'b');
    await disk.remove('c');
    expect(outcomes(disk)).toEqual(
      new Set(
        [
          { a: 'new', b: 'old', c: 'c' },
          { b: 'new', c: 'c' },
          { a: 'new', b: 'old' },
          { b: 'new' },
        ].map((files) => JSON.stringify(files)),
      ),
    );
  });

  it('loses everything in a folder whose name is lost', async () => {
    const disk = new MemoryIo();
    await disk.mkdir('store');
    await put(disk, 'store/file', 'x');
    await disk.syncDir('store');
    expect(afterPowerCut(disk).paths()).toEqual([]);
    await disk.syncDir('/');
    expect(afterPowerCut(disk).paths()).toEqual(['store/file']);
  });

  it('covers with a sync only what had returned when the sync was called', async () => {
    const disk = new MemoryIo();
    const file = await disk.open('file', 'create');
    await disk.syncDir('/');
    await Promise.all([file.write(BYTES('a'), 0), file.sync()]);
    expect(view(afterPowerCut(disk))).toEqual({ file: '' });
    await Promise.all([file.sync(), file.write(BYTES('b'), 1)]);
    expect(view(afterPowerCut(disk))).toEqual({ file: 'a' });
    expect(view(disk)).toEqual({ file: 'ab' });
  });

  it('leaves unsynced writes whole, missing, torn, zeroed and in any order', async () => {
    const disk = new MemoryIo();
    await put(disk, 'file', '--');
    await disk.syncDir('/');
    const file = await disk.open('file', 'write');
    await file.write(BYTES('AB'), 0);
    await file.write(BYTES('CD'), 2);
    const found = outcomes(disk);
    for (const file of [
      '--',
      'AB',
      'ABCD',
      '--CD',
      'A-',
      'A-CD',
      'ABC',
      '--\0\0',
      'AB\0\0',
      '--C\0',
    ]) {
      expect(found, file).toContain(JSON.stringify({ file }));
    }
    for (const file of ['', '-B', 'A', '\0\0CD'])
      expect(found).not.toContain(JSON.stringify({ file }));
  });

  it('may lose a truncation', async () => {
    const disk = new MemoryIo();
    await put(disk, 'file', 'long');
    await disk.syncDir('/');
    await (await disk.open('file', 'write')).truncate(1);
    expect(outcomes(disk)).toEqual(
      new Set([JSON.stringify({ file: 'long' }), JSON.stringify({ file: 'l' })]),
    );
  });

  it('never writes what a failed sync has lost, and keeps what a later sync covered', async () => {
    const disk = new MemoryIo();
    await put(disk, 'file', '--');
    await disk.syncDir('/');
    const file = await disk.open('file', 'write');
    await file.write(BYTES('A'), 0);
    file.loseUnsynced();
    await file.write(BYTES('B'), 1);
    await file.sync();
    expect(view(disk)).toEqual({ file: 'AB' });
    expect(outcomes(disk)).toEqual(
      new Set([JSON.stringify({ file: '-B' }), JSON.stringify({ file: 'AB' })]),
    );
  });

  it('draws the same images for the same seed', async () => {
    const disk = new MemoryIo();
    for (let index = 0; index < 8; index++)
      await put(disk, `file${index}`, 'some bytes', index % 2 === 0);
    const hashes = (seed: number): number[] =>
      [...crashImages(disk.snapshot(), 60, seed)].map((image) => image.disk.hash());
    expect(hashes(1)).toEqual(hashes(1));
    expect(hashes(1)).not.toEqual(hashes(2));
  });

  it('does not let an image see what its disk does later', async () => {
    const disk = new MemoryIo();
    await put(disk, 'file', 'before', false);
    const snapshot = disk.snapshot();
    const before = [...crashImages(snapshot, 30, 1)].map((image) => view(image.disk));
    await put(disk, 'file', 'AFTER!');
    await put(disk, 'other', 'x');
    await disk.syncDir('/');
    expect([...crashImages(snapshot, 30, 1)].map((image) => view(image.disk))).toEqual(before);
  });

  it('is made from files', () => {
    const files = new Map([
      ['a/b/c', BYTES('x')],
      ['a/d', BYTES('y')],
    ]);
    const disk = MemoryIo.from(files);
    expect(view(disk)).toEqual({ 'a/b/c': 'x', 'a/d': 'y' });
    expect(view(afterPowerCut(disk))).toEqual(view(disk));
  });
});

describe('links and folders', () => {
  it('shares the bytes of a file under two names, and removes only empty folders', async () => {
    const io = new MemoryIo();
    await io.mkdir('a');
    const file = await io.open('a/one', 'create');
    await io.link('a/one', 'a/two');
    await file.write(Uint8Array.of(7), 0);
    expect(io.contentOf('a/two')?.length).toBe(1);
    await expect(io.link('a/one', 'a/two')).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(io.link('a', 'b')).rejects.toMatchObject({ code: 'EPERM' });
    await expect(io.removeFolder('a')).rejects.toMatchObject({ code: 'ENOTEMPTY' });
    await io.remove('a/one');
    await io.remove('a/two');
    await io.removeFolder('a');
    await io.removeFolder('a');
    expect(await io.stat('a')).toBeUndefined();
  });
});
