import { closeSync, fstatSync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs';
import { toLine } from '../events/event-line.ts';
import { FILE_LINES_MAX } from '../events/limits.ts';
import type { IdRange } from '../events/scan.ts';
import { putAside, type QueueFolder } from '../folder/queue-folder.ts';
import { readTail } from '../folder/mirror-lines.ts';
import type { Inserted } from './event-table.ts';
import type { QueueDatabase } from './queue-database.ts';

// events.jsonl: every event as a line of JSON, for people with a pager.
// Invariants
// - Lines are written from rows that are committed, by rising id, each once. If a crash or a full disk prevents lines
//   from being written, the next push writes them.
// - A writer holds the write lock of the database, so processes take turns.
// - A writer reads only the last line of the file. The number of lines follows from the ids: they have no gaps, and the
//   database knows the last event that was put aside with an old file.

/** The most that one push writes of the lines that earlier pushes could not write. The next push writes the rest. */
const REPAIR_BYTES_MAX = 64 << 20;
const REPAIR_ROWS = 500;
const WRITE_BYTES = 1 << 20;

interface Left {
  readonly file: number;
  readonly inode: number;
  readonly size: number;
  /** The last event in the file. */
  readonly id: number;
  /** The last event in an older file. */
  readonly aside: number;
}

export class EventMirror {
  readonly #folder: QueueFolder;
  readonly #database: QueueDatabase;
  readonly #now: () => number;
  /** The file as this process left it. If the file still has that length, nobody else has written to it. */
  #left: Left | undefined;

  constructor(folder: QueueFolder, database: QueueDatabase, now: () => number) {
    this.#folder = folder;
    this.#database = database;
    this.#now = now;
  }

  /** Writes the missing lines, up to the newest event. */
  catchUp(fresh: Inserted): void {
    this.#database.exclusively(() => {
      const found = statSync(this.#folder.mirror, { throwIfNoEntry: false });
      const left = this.#left;
      // Nobody else has written the file or put it aside, so there is no need to look.
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

  /**
   * The file to write to, cut to its last whole line. This is a new file when the old one is full or cannot be
   * understood.
   */
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
    // Until the lines are written, the state of the file is unknown.
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
    // Another process may have written some of these lines already, because this one was slow.
    if (done.id === firstId - 1) {
      const bytes = lines.reduce((sum, chunk) => sum + writeWhole(file, chunk), done.bytes);
      done = { id: done.id + lined, bytes };
    }
    if (done.id < firstId - 1) return done;
    const rest = this.#appendRows(file, { after: done.id, through: lastId });
    return { id: rest.id, bytes: done.bytes + rest.bytes };
  }

  /** Appends lines from the database, at most one portion at a time. */
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
