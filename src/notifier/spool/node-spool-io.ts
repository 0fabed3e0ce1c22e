import { constants } from 'node:fs';
import * as fs from 'node:fs/promises';
import type { SpoolIo } from './spool-io.ts';

/** Far more than a record has: the system bounds its command and the environment of its caller. */
const RECORD_BYTES_MAX = 16 << 20;
/** Opening a pipe must not wait for its writer. */
const READ = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** The real disk. */
export const nodeSpoolIo: SpoolIo = {
  async writeSynced(path, text) {
    const file = await fs.open(path, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
  },

  writeSoon: (path, text) => fs.writeFile(path, text, { mode: 0o600 }),
  link: (from, to) => fs.link(from, to),
  rename: (from, to) => fs.rename(from, to),

  remove: async (path) => (await orMissing(fs.unlink(path).then(() => true))) ?? false,

  async syncFolder(path) {
    const folder = await fs.open(path, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  },

  read: (path) => orMissing(readRecord(path)),
  writtenAt: async (path) => (await orMissing(fs.lstat(path)))?.mtimeMs,
  list: async (path) => (await fs.readdir(path)).toSorted(),
};

/** Returns an empty text, which is not a record, for anything but a file of a record's size. */
async function readRecord(path: string): Promise<string> {
  const file = await fs.open(path, READ);
  try {
    const found = await file.stat();
    if (!found.isFile() || found.size > RECORD_BYTES_MAX) return '';
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

async function orMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
