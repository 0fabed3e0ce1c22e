import { constants } from 'node:fs';
import * as fs from 'node:fs/promises';

// The operations that the spool needs of a file system. This is a port, so that tests cut the power and fail any
// operation.
//
// Contract
// - Errors are the operating system's: an `Error` with an errno `code`.
// - A name survives a power cut after `syncFolder`; `writeSynced` returns when the content would.

export interface SpoolIo {
  /** Makes a new file readable by its owner alone (EEXIST otherwise), with this content on disk. */
  writeSynced(path: string, text: string): Promise<void>;
  /** Makes or replaces a file without any promise about power cuts. */
  writeSoon(path: string, text: string): Promise<void>;
  /** Adds a second name for a file. Fails with EEXIST when the name is taken. */
  link(from: string, to: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file. Returns false when there was none. */
  remove(path: string): Promise<boolean>;
  syncFolder(path: string): Promise<void>;
  /**
   * Returns undefined when there is no file. Returns an empty text for a folder, a pipe, or a file far too large to be
   * a record.
   */
  read(path: string): Promise<string | undefined>;
  /** The time of the last write, in milliseconds; undefined when there is no file. */
  writtenAt(path: string): Promise<number | undefined>;
  /** Names in a folder, sorted. */
  list(path: string): Promise<string[]>;
}

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
