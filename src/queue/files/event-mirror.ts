import { closeSync, fstatSync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs';
import { toLine } from '../event-line.ts';
import type { QueueFolder } from '../folder.ts';
import { FILE_LINES_MAX } from '../limits.ts';
import type { IdRange } from '../scan.ts';
import type { Inserted } from '../sqlite/event-inserter.ts';
import type { QueueDatabase } from '../sqlite/queue-database.ts';
import { putAside } from './put-aside.ts';
import { readTail } from './read-tail.ts';

// events.jsonl: every event as a line of JSON, for people with a pager.
// Invariants
// - Lines are written from rows that are committed, by rising id, each once. What a crash or a full disk kept
//   from being written is written with the next push.
// - Whoever writes holds the write lock of the database, so processes take turns.
// - To write, the file is not read but for its last line. How many lines it has follows from the ids: they have no
//   gaps, and the database knows the last event that was put aside with an old file.

/** What one push writes at most of what earlier ones could not. The rest comes with the next. */
const REPAIR_BYTES_MAX = 64 << 20;
const REPAIR_ROWS = 500;
const WRITE_BYTES = 1 << 20;

interface Left {
  readonly file: number;
  readonly inode: number;
  readonly size: number;
  /** The last event in it. */
  readonly id: number;
  /** The last event in an older file. */
  readonly aside: number;
}

export class EventMirror {
  readonly #folder: QueueFolder;
  readonly #database: QueueDatabase;
  readonly #now: () => number;
  /** As this process left the file. Only while it is as long as that has nobody else written to it. */
  #left: Left | undefined;

  constructor(folder: QueueFolder, database: QueueDatabase, now: () => number) {
    this.#folder = folder;
    this.#database = database;
    this.#now = now;
  }

  /** Writes what is missing, up to the newest event. */
  catchUp(fresh: Inserted): void {
    this.#database.exclusively(() => {
      const found = statSync(this.#folder.mirror, { throwIfNoEntry: false });
      const left = this.#left;
      // Nobody else has written or put it aside, so there is no need to look.
      if (left !== undefined && found?.ino === left.inode && found.size === left.size) {
        if (left.id - left.aside <= FILE_LINES_MAX) return this.#write(left, fresh);
      }
      this.close();
      this.#write(this.#open(fresh), fresh);
    });
  }

  close(): void {
    if (this.#left !== undefined) closeSync(this.#left.file);
    this.#left = undefined;
  }

  /** The file to write on, cut to its last whole line; a new one when the old one is full or makes no sense. */
  #open(fresh: Inserted): Left {
    const aside = this.#database.lines('events.jsonl');
    const file = openSync(this.#folder.mirror, 'a+', 0o600);
    try {
      const { ino: inode, size } = fstatSync(file);
      const tail = readTail(file, size);
      const isSound = tail !== undefined && tail.id <= fresh.lastId;
      if (isSound && tail.id - aside <= FILE_LINES_MAX) {
        if (size > tail.end) ftruncateSync(file, tail.end);
        return { file, inode, size: tail.end, id: Math.max(tail.id, aside), aside };
      }
      putAside(this.#folder.mirror, this.#now());
      this.#database.setLines(
        'events.jsonl',
        isSound ? tail.id : Math.min(aside, fresh.firstId - 1),
      );
    } catch (error) {
      closeSync(file);
      throw error;
    }
    closeSync(file);
    return this.#open(fresh);
  }

  #write(left: Left, fresh: Inserted): void {
    // Until it is written nobody knows how the file is.
    this.#left = undefined;
    try {
      const { id, bytes } = this.#append(left.file, left.id, fresh);
      this.#left = { ...left, id, size: left.size + bytes };
    } catch (error) {
      closeSync(left.file);
      throw error;
    }
  }

  #append(file: number, from: number, fresh: Inserted): { id: number; bytes: number } {
    const { firstId, lastId, lines, lined } = fresh;
    let done = this.#appendRows(file, { after: from, through: firstId - 1 });
    // Unless another process has written some of them already, for this one was slow.
    if (done.id === firstId - 1) {
      const bytes = lines.reduce((sum, chunk) => sum + writeWhole(file, chunk), done.bytes);
      done = { id: done.id + lined, bytes };
    }
    if (done.id < firstId - 1) return done;
    const rest = this.#appendRows(file, { after: done.id, through: lastId });
    return { id: rest.id, bytes: done.bytes + rest.bytes };
  }

  /** From the database, as far as it goes at a time. */
  #appendRows(file: number, { after, through }: IdRange): { id: number; bytes: number } {
    let bytes = 0;
    let id = after;
    while (id < through && bytes < REPAIR_BYTES_MAX) {
      const rows = this.#database.rows({ after: id, through }, REPAIR_ROWS, WRITE_BYTES);
      bytes += writeWhole(file, Buffer.from(rows.map(toLine).join('')));
      id = rows.at(-1)?.id ?? through;
    }
    return { id, bytes };
  }
}

function writeWhole(file: number, data: Buffer): number {
  for (let done = 0; done < data.length;) done += writeSync(file, data, done);
  return data.length;
}
