import { describe, expect, it } from 'vitest';
import type { Io } from '../../src/engine/io.ts';
import { removeSession } from '../../src/session/keep/manage-sessions.ts';
import { artifactsFolderOf } from '../../src/session/files/session-names.ts';
import type { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { lyingIo } from '../crash/lying-io.ts';
import {
  ID,
  NEW,
  OLD,
  checkForked,
  checkMoved,
  fork,
  move,
  startDisk,
  homeOf,
} from './carry-scene.ts';

/** A disk whose `name` fails with `code`. */
function without(io: Io, name: 'link' | 'removeFolder', code: string): Io {
  const failing = async (): Promise<never> => {
    throw Object.assign(new Error(`${code}: no`), { code });
  };
  return { ...lyingIo(io, {}), [name]: failing };
}

async function put(io: MemoryIo, path: string, text: string): Promise<void> {
  const file = await io.open(path, 'create');
  await file.write(Buffer.from(text), 0);
}

describe('a session on its way', () => {
  it('is copied where the file system has no second names', async () => {
    for (const code of ['EXDEV', 'EPERM', 'ENOTSUP']) {
      const disk = startDisk();
      await move(await homeOf(without(disk, 'link', code)));
      await checkMoved(disk, ['done', { id: ID, file: NEW }]);
      const other = startDisk();
      const report = await fork(await homeOf(without(other, 'link', code)));
      expect(report).toMatchObject({ artifactsCopied: true });
      const { id, newFile } = report as { id: string; newFile: string };
      await checkForked(other, ['done', { id, file: newFile }]);
    }
  });

  it('joins artifacts that are there, and gives way to none', async () => {
    const disk = startDisk();
    const folder = artifactsFolderOf(NEW)!;
    await disk.mkdir('/new');
    await disk.mkdir(folder);
    await put(disk, `${folder}/7.bash.log`, 'there before');
    await move(await homeOf(disk));
    expect(disk.paths()).toContain(`${folder}/7.bash.log`.slice(1));
    await checkMoved(disk, ['done', { id: ID, file: NEW }]);

    const full = startDisk();
    await full.mkdir('/new');
    await full.mkdir(folder);
    await put(full, `${folder}/0.bash.log`, 'another');
    const before = full.paths();
    await expect(move(await homeOf(full))).rejects.toMatchObject({ code: 'EXISTS' });
    expect(full.paths()).toEqual(before);
  });

  it('stays when it is to go where it is, and says what is left of one that was removed', async () => {
    const disk = startDisk();
    const home = await homeOf(disk);
    const before = disk.hash();
    const { moveSession } = await import('../../src/session/carry/move-session.ts');
    await moveSession(home, { id: ID, file: OLD }, { folder: '/old', cwd: '/b' });
    expect(disk.hash()).toBe(before);
    const stuck = { ...home, io: without(disk, 'removeFolder', 'EBUSY') };
    const folder = artifactsFolderOf(OLD);
    await expect(removeSession(stuck, { id: ID, file: OLD })).rejects.toThrow(
      `Session file deleted but failed to remove artifacts directory ${folder}: EBUSY: no`,
    );
    await removeSession(home, { id: ID, file: OLD });
    expect(disk.paths()).toEqual([]);
    await removeSession(home, { id: ID, file: OLD });
  });

  it('says so when neither the move nor the way back works', async () => {
    const disk = startDisk();
    const io = { ...lyingIo(disk, {}) };
    io.rename = async (from, to) => {
      if (from === OLD) throw new Error('first');
      return disk.rename(from, to);
    };
    io.remove = async (path) => {
      if (path === NEW) throw new Error('second');
      return disk.remove(path);
    };
    await expect(move(await homeOf(io))).rejects.toThrow(
      'Failed to move session file and rollback: second',
    );
  });
});
