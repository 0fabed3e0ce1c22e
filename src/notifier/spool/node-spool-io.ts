import * as fs from 'node:fs/promises';
import type { SpoolIo } from './spool-io.ts';

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

  read: (path) => orMissing(fs.readFile(path, 'utf8')),
  writtenAt: async (path) => (await orMissing(fs.stat(path)))?.mtimeMs,
  list: async (path) => (await fs.readdir(path)).toSorted(),
};

async function orMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
