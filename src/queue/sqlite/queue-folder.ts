import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  accessSync,
  constants,
  statfsSync,
} from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import { notFound, QuipuError, corrupt } from '../../base/errors.ts';

/** The parts of a queue, and their places. The folder is the queue: nothing about it is anywhere else. */
export interface QueueFolder {
  /** An absolute path. */
  readonly path: string;
  readonly database: string;
  /** A line of JSON for every event, for people. */
  readonly mirror: string;
  /** A lock for every consumer whose handler runs. */
  readonly run: string;
  readonly logs: string;
  readonly log: string;
}

export function queueFolder(path: string): QueueFolder {
  const absolute = resolve(path);
  const logs = join(absolute, 'logs');
  return {
    path: absolute,
    database: join(absolute, 'events.db'),
    mirror: join(absolute, 'events.jsonl'),
    run: join(absolute, 'run'),
    logs,
    log: join(logs, 'thread.log'),
  };
}

/** A folder with a database in it is a queue. */
export function isQueueFolder(path: string): boolean {
  return existsSync(queueFolder(path).database);
}

/** Throws NOT_FOUND when the folder is not a queue. */
export function mustBeQueue(path: string): QueueFolder {
  const folder = queueFolder(path);
  if (existsSync(folder.database)) return folder;
  throw noQueue(folder.path);
}

/** Also accepts a queue that has lost its database and still has its mirror. */
export function mustHaveBeenQueue(path: string): QueueFolder {
  const folder = queueFolder(path);
  return existsSync(folder.mirror) ? folder : mustBeQueue(path);
}

export function noQueue(path: string): QuipuError<'NOT_FOUND'> {
  return notFound('thread', path, `${path} is not a thread directory`);
}

/** The names of the queues in a folder of queues. */
export function listQueueFolders(parent: string): string[] {
  return listFolders(parent, (folder) => existsSync(folder.database));
}

/** Also the names of folders that were queues: they have a mirror, and no database. */
export function listAllQueues(parent: string): string[] {
  return listFolders(parent, ({ database, mirror }) => existsSync(database) || existsSync(mirror));
}

function listFolders(parent: string, isOne: (folder: QueueFolder) => boolean): string[] {
  // Search looks for queues at each query, and most stores have none: an error took as long as a hit.
  if (!existsSync(parent)) return [];
  try {
    return readdirSync(parent)
      .filter((name) => isOne(queueFolder(join(parent, name))))
      .toSorted();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw toQueueError(error, parent);
  }
}

// Changes to the folder that survive a power cut.

/**
 * Makes the folder and its parents, for their owner alone, each durable in the one above. Folders that exist are
 * synced, too: a process that died may just have made them. Where that is not allowed, others made them long ago. This
 * works one level after the other: where nothing can be made, such as in /proc, asking for all at once never ends.
 */
export function makeFolder(path: string): void {
  const parent = dirname(path);
  if (parent === path) return;
  makeFolder(parent);
  const isNew = makeOne(path);
  try {
    syncPath(parent);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (isNew || (code !== 'EACCES' && code !== 'EPERM')) throw error;
  }
}

function makeOne(path: string): boolean {
  if (existsSync(path)) return false;
  try {
    mkdirSync(path, 0o700);
    return true;
  } catch (error) {
    // Another process was faster.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

/** Syncs a file, or the names in a folder, to the disk. */
export function syncPath(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Gives a file the name `<name>-<YYYYMMDD-HHmmss>.<ext>`, with a number behind it when that is taken. The caller keeps
 * others out, so that no name is taken between the look and the move. Returns false when there is no file.
 */
export function putAside(path: string, nowMs: number): boolean {
  if (!existsSync(path)) return false;
  const end = extname(path);
  const base = `${path.slice(0, path.length - end.length)}-${toStamp(nowMs)}`;
  let target = `${base}${end}`;
  for (let number = 2; existsSync(target); number += 1) target = `${base}-${number}${end}`;
  renameSync(path, target);
  return true;
}

/** In UTC. */
function toStamp(nowMs: number): string {
  const [day = '', time = ''] = new Date(nowMs).toISOString().split('T');
  return `${day.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}`;
}

/** Turns errors of SQLite and of the file system into errors of the store. `path` is the queue's folder. */
export function toQueueError(error: unknown, path: string): Error {
  if (error instanceof QuipuError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (typeof code !== 'string') return error as Error;
  const why = { cause: error };
  if (code.startsWith('SQLITE_BUSY') || code === 'SQLITE_LOCKED') {
    const busy = `other processes kept ${path} busy for too long`;
    return new QuipuError('LOCKED', busy, { what: 'queue', owner: 'another process' }, why);
  }
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB') {
    const damaged = `events.db in ${path} is damaged: ${message}`;
    return corrupt('events.db', damaged, why);
  }
  if (code === 'SQLITE_ERROR') {
    const strange = `events.db in ${path} is not a thread's: ${message}`;
    return corrupt('events.db', strange, why);
  }
  const missing = code === 'ENOENT' ? 'gone' : undefined;
  switch (troubleOf(code) ?? findTrouble(path) ?? missing) {
    case 'full':
      return new QuipuError('DISK_FULL', `the disk is full, in ${path}`, { path }, why);
    case 'read-only':
      return new QuipuError('READ_ONLY', `${path} cannot be written to`, { path }, why);
    case 'gone': {
      const gone = `${path} was moved or deleted while it was in use`;
      return new QuipuError('NOT_FOUND', gone, { what: 'thread', id: path }, why);
    }
    case undefined:
      return new QuipuError('IO', `cannot use ${path}: ${message}`, { path, errno: code }, why);
  }
}

/** The trouble, as far as the code alone tells it. */
function troubleOf(code: string): Trouble | undefined {
  if (code === 'SQLITE_FULL' || code === 'ENOSPC' || code === 'EDQUOT') return 'full';
  if (code === 'SQLITE_READONLY_DBMOVED') return 'gone';
  if (code.startsWith('SQLITE_READONLY')) return 'read-only';
  return code === 'EROFS' || code === 'EACCES' || code === 'EPERM' ? 'read-only' : undefined;
}

/** Returns whether SQLite could not go on, as opposed to a caller that asked for too much. */
export function isFatal({ cause }: Error): boolean {
  const { code } = (cause ?? {}) as { code?: unknown };
  return typeof code === 'string' && code.startsWith('SQLITE_');
}

/** Runs SQLite's or the file system's part of a call, and turns its errors into errors of the store. */
export function inQueueWords<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw toQueueError(error, path);
  }
}

/** Less than SQLite needs to open a database, or than a file system can give in pieces. */
const ROOM_BYTES = 64 * 1024;

type Trouble = 'gone' | 'read-only' | 'full';

/**
 * Finds the reason why nothing can be done in a folder, by looking at the folder after something failed. SQLite says
 * "disk I/O error" or "unable to open" for all of these.
 */
function findTrouble(path: string): Trouble | undefined {
  if (!existsSync(path)) return 'gone';
  try {
    accessSync(path, constants.W_OK);
  } catch {
    return 'read-only';
  }
  const { bavail, bsize, files, ffree } = statfsSync(path);
  // Some file systems do not count files, and report zero for both.
  return bavail * bsize < ROOM_BYTES || (files > 0 && ffree === 0) ? 'full' : undefined;
}
