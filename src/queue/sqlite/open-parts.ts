import { statSync } from 'node:fs';
import { QuipuError } from '../../base/errors.ts';
import { inQueueWords, noQueue, type QueueFolder } from './queue-folder.ts';
import { EventMirror } from './event-mirror.ts';
import { isBehindMirror, mendEvents } from './mend-events.ts';
import { QueueDatabase } from './queue-database.ts';
import { RuntimeLog, warn } from './runtime-log.ts';

export interface Parts {
  readonly database: QueueDatabase;
  readonly mirror: EventMirror;
  readonly log: RuntimeLog;
}

/** Keeps the number of databases that are open at once bounded, however many queues there are. */
export class OpenLimit {
  readonly #max: number;
  /** The most recently used one is last. */
  readonly #open = new Set<OpenParts>();

  constructor(max: number) {
    this.#max = max;
  }

  used(parts: OpenParts): void {
    this.#open.delete(parts);
    this.#open.add(parts);
    if (this.#open.size <= this.#max) return;
    const idle = [...this.#open].find((other) => other !== parts && !other.isBusy);
    if (idle === undefined) return;
    idle.close();
    this.#open.delete(idle);
  }
}

/** The open parts of a queue: from its first use until they are closed, and again with the next use. */
export class OpenParts {
  readonly #folder: QueueFolder;
  readonly #now: () => number;
  readonly #limit: OpenLimit | undefined;
  #parts: (Parts & { readonly inode: number }) | undefined;
  #users = 0;
  #ended = false;

  constructor(folder: QueueFolder, now: () => number, limit: OpenLimit | undefined) {
    this.#folder = folder;
    this.#now = now;
    this.#limit = limit;
  }

  get isBusy(): boolean {
    return this.#users > 0;
  }

  /** The parts stay open until the work is done. */
  async use<T>(work: (parts: Parts) => Promise<T>): Promise<T> {
    const parts = this.get();
    this.#users += 1;
    try {
      return await work(parts);
    } finally {
      this.#users -= 1;
    }
  }

  /**
   * For synchronous work. Throws NOT_FOUND when the folder is gone. This method looks each time: SQLite goes on writing
   * to a file that was deleted, and would acknowledge events that nobody can ever read.
   */
  get(): Parts {
    const folder = this.#folder;
    if (this.#ended) {
      const what = `queue ${folder.path}`;
      throw new QuipuError('CLOSED', `${what} is closed`, { what });
    }
    const found = inQueueWords(folder.path, () =>
      statSync(folder.database, { throwIfNoEntry: false }),
    );
    if (found === undefined) {
      this.close();
      throw noQueue(folder.path);
    }
    if (found.ino !== this.#parts?.inode) {
      this.close();
      const database = inQueueWords(folder.path, () => new QueueDatabase(folder.database));
      const log = new RuntimeLog(folder, database, this.#now);
      const mirror = new EventMirror(folder, database, this.#now);
      this.#parts = { database, mirror, log, inode: found.ino };
      // A database that lost its end, or all, must not give ids again that were given.
      if (isBehindMirror(folder, database)) this.mend();
    }
    this.#limit?.used(this);
    return this.#parts;
  }

  /** Takes from the mirror what the database lacks. Returns false when nothing is lacking. */
  mend(): boolean {
    const { database, log } = this.get();
    const mended = inQueueWords(this.#folder.path, () => mendEvents(this.#folder, database));
    if (mended === 0) return false;
    log.write(warn(`events.db had lost or damaged events; ${mended} were taken from events.jsonl`));
    return true;
  }

  /** Closes the parts for good. */
  end(): void {
    this.#ended = true;
    this.close();
  }

  close(): void {
    this.#parts?.log.flush();
    this.#parts?.mirror.close();
    this.#parts?.database.close();
    this.#parts = undefined;
  }
}
