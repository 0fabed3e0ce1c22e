import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import { tooLarge, type QuipuError } from '../../base/errors.ts';
import {
  MAX_PENDING,
  MAX_TIMERS,
  decodeFailedTask,
  decodeRun,
  decodeTask,
  decodeTimer,
  encodeRecord,
  type FailedTask,
  type Failure,
  type NewTask,
  type Run,
  type Task,
  type Timer,
} from './records.ts';

// The folder in which tasks wait, run and fail. Each task is one file, in the folder of its state.
//
// Invariants
// - A task that was added is in `pending/`, `running/` or `error/` until it succeeded or was removed, whatever crashes.
//   A task may run twice: a power cut may forget its end, but not that it was added.
// - A record appears under its name whole: it is written aside and synced first.
// - `pending/` has an id once. `link` decides between two processes that add it at once.
// - Anyone may add, list, remove and retry. Only the holder of the daemon's lock moves tasks through `running/`.

const RECORD = '.json';
const RUN = '.run';

export type TaskState = 'pending' | 'running' | 'error';

export class Spool {
  readonly home: string;
  readonly #io: SpoolIo;
  readonly #now: () => number;

  constructor(home: string, io: SpoolIo, now: () => number) {
    this.home = home;
    this.#io = io;
    this.#now = now;
  }

  /** Returns false when a task with this id is pending. That task is then as durable as a new one would be. */
  async add(task: NewTask): Promise<boolean> {
    const pending = (await this.#names('pending')).length;
    if (pending >= MAX_PENDING) throw tooMany('pending tasks', pending, MAX_PENDING);
    return this.#publish('pending', task.id, encodeRecord({ ...task, addedAt: this.#now() }));
  }

  async addTimer(timer: Omit<Timer, 'addedAt'>): Promise<boolean> {
    const timers = (await this.#names('timers')).length;
    if (timers >= MAX_TIMERS) throw tooMany('timers', timers, MAX_TIMERS);
    return this.#publish('timers', timer.id, encodeRecord({ ...timer, addedAt: this.#now() }));
  }

  /** Removes a task that has not begun, a failure, or a timer. Returns false when there is none. */
  async remove(folder: 'pending' | 'error' | 'timers', id: string): Promise<boolean> {
    const removed = await this.#io.remove(this.#path(folder, id));
    if (removed) await this.#io.syncFolder(join(this.home, folder));
    return removed;
  }

  /** Puts a failed task back in line. Returns `taken` when a task with its id waits there already. */
  async retry(id: string): Promise<'added' | 'taken' | 'missing'> {
    const failed = await this.getFailed(id);
    if (failed === undefined) return 'missing';
    const { failure: _, ...task } = failed;
    if (!(await this.add(task))) return 'taken';
    await this.remove('error', id);
    return 'added';
  }

  /** Changes whenever a timer comes or goes. */
  async timersMark(): Promise<string> {
    const names = await this.#names('timers');
    const times = names.map((id) => this.#io.writtenAt(this.#path('timers', id)));
    return JSON.stringify([names, await Promise.all(times)]);
  }

  /** Returns ids in the order in which they were added, as far as clocks tell. */
  async listIds(state: TaskState | 'timers'): Promise<string[]> {
    const names = await this.#names(state);
    const times = await Promise.all(
      names.map(
        async (id) => [(await this.#io.writtenAt(this.#path(state, id))) ?? 0, id] as const,
      ),
    );
    return times.toSorted(([a], [b]) => a - b).map(([, id]) => id);
  }

  async getTask(state: 'pending' | 'running', id: string): Promise<Task | undefined> {
    return decodeTask((await this.#io.read(this.#path(state, id))) ?? '');
  }

  async getFailed(id: string): Promise<FailedTask | undefined> {
    return decodeFailedTask((await this.#io.read(this.#path('error', id))) ?? '');
  }

  async listTimers(): Promise<Timer[]> {
    const ids = await this.listIds('timers');
    const texts = await Promise.all(ids.map((id) => this.#io.read(this.#path('timers', id))));
    return texts.map((text) => decodeTimer(text ?? '')).filter((timer) => timer !== undefined);
  }

  async getRun(id: string): Promise<Run | undefined> {
    return decodeRun((await this.#io.read(this.#path('running', id, RUN))) ?? '');
  }

  /**
   * Moves a task from pending to running. Returns undefined when the task was removed meanwhile. A task that cannot be
   * read is set aside.
   */
  async claim(id: string): Promise<Task | undefined> {
    try {
      await this.#io.rename(this.#path('pending', id), this.#path('running', id));
    } catch (error) {
      // The task was removed; or a first try has moved it, and then the disk failed.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    // Without this sync, the name in `pending/` could come back after a power cut, or be gone from both.
    await this.#io.syncFolder(join(this.home, 'running'));
    return this.reclaim(id);
  }

  /**
   * Takes a task that was found running when no daemon was, to run it again. A task that cannot be read is set aside.
   */
  async reclaim(id: string): Promise<Task | undefined> {
    const text = await this.#io.read(this.#path('running', id)).catch(unreadable);
    if (text === undefined) return undefined;
    const task = decodeTask(text);
    if (task?.id === id) return task;
    const aside = `${id}-${randomBytes(4).toString('hex')}`;
    await this.#io.rename(this.#path('running', id), this.#path('damaged', aside));
    return undefined;
  }

  /** Call this before the command may begin: the next daemon after a killed one must find its processes. */
  async noteRun(id: string, run: Run): Promise<void> {
    await this.#io.writeSoon(this.#path('running', id, RUN), encodeRecord(run));
  }

  async succeed(id: string): Promise<void> {
    await this.#io.remove(this.#path('running', id));
    await this.#io.remove(this.#path('running', id, RUN));
  }

  /** The spool keeps only the newest failure of an id. */
  async fail(task: Task, failure: Failure): Promise<void> {
    const aside = await this.#writeAside(encodeRecord({ ...task, failure }));
    await this.#io.rename(aside, this.#path('error', task.id));
    // The task leaves `running/` only when the other name would survive.
    await this.#io.syncFolder(join(this.home, 'error'));
    await this.succeed(task.id);
  }

  /** Removes files that were begun by processes that died, and notes of runs without a task. Only for the daemon. */
  async sweep(): Promise<void> {
    const now = this.#now();
    for (const name of await this.#io.list(join(this.home, 'aside'))) {
      const path = join(this.home, 'aside', name);
      // Other processes may be writing theirs.
      if (now - ((await this.#io.writtenAt(path)) ?? now) > 3_600_000) await this.#io.remove(path);
    }
    const running = new Set(await this.#names('running'));
    for (const id of await this.#names('running', RUN)) {
      if (!running.has(id)) await this.#io.remove(this.#path('running', id, RUN));
    }
  }

  async countOf(folder: TaskState | 'timers' | 'damaged'): Promise<number> {
    return (await this.#names(folder)).length;
  }

  async #publish(folder: 'pending' | 'timers', id: string, text: string): Promise<boolean> {
    const aside = await this.#writeAside(text);
    let added = true;
    try {
      await this.#io.link(aside, this.#path(folder, id));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      added = false;
    } finally {
      await this.#io.remove(aside);
    }
    // The second of two processes syncs, too: the first may not have come this far.
    await this.#io.syncFolder(join(this.home, folder));
    return added;
  }

  async #writeAside(text: string): Promise<string> {
    const path = join(this.home, 'aside', randomBytes(12).toString('hex'));
    try {
      await this.#io.writeSynced(path, text);
    } catch (error) {
      await this.#io.remove(path).catch(() => undefined);
      throw error;
    }
    return path;
  }

  async #names(folder: string, suffix: string = RECORD): Promise<string[]> {
    const names = await this.#io.list(join(this.home, folder));
    return names
      .filter((name) => name.endsWith(suffix))
      .map((name) => name.slice(0, -suffix.length));
  }

  #path(folder: string, id: string, suffix: string = RECORD): string {
    return join(this.home, folder, `${id}${suffix}`);
  }
}

/** A folder, or a file of another user, under the name of a record is not a record. */
function unreadable(error: unknown): string {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (['EISDIR', 'EACCES', 'ELOOP'].includes(code)) return '';
  throw error;
}

function tooMany(what: string, size: number, limit: number): QuipuError<'TOO_LARGE'> {
  const message = `there are ${size} ${what}, and no more than ${limit} may be`;
  return tooLarge(what, limit, size, message);
}

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
