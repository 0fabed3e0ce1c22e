import { closeSync, fstatSync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs';
import type { CheckedEvent } from '../check-input.ts';
import type { QueueFolder } from '../folder.ts';
import { FILE_LINES_MAX } from '../limits.ts';
import type { QueueEvent } from '../queue.ts';
import type { QueueDatabase } from '../sqlite/queue-database.ts';
import { putAside } from './put-aside.ts';
import { readTail } from './read-tail.ts';

// events.jsonl: every event as a line of JSON, for people with a pager.
// Invariants
// - Lines are written from rows that are committed, by rising id, each once. What a crash or a full disk kept
//   from being written is written with the next push.
// - Whoever writes holds the write lock of the database, so processes take turns.
// - The file is never read but for its last line. How many lines it has follows from the ids: they have no
//   gaps, and the database knows the last event that was put aside with an old file.

/** What one push writes at most of what earlier ones could not. The rest comes with the next. */
const REPAIR_BYTES_MAX = 64 << 20;
const REPAIR_ROWS = 500;
const WRITE_CHARS = 1 << 20;

/** The last events that were committed, to save reading them. Their ids follow one another. */
export interface FreshEvents {
  readonly firstId: number;
  readonly createdAt: string;
  readonly events: readonly CheckedEvent[];
}

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
  catchUp(fresh: FreshEvents): void {
    this.#database.exclusively(() => {
      const found = statSync(this.#folder.mirror, { throwIfNoEntry: false });
      const left = this.#left;
      // Nobody else has written or put it aside, so there is no need to look.
      if (left !== undefined && found?.ino === left.inode && found.size === left.size) {
        if (left.id - left.aside <= FILE_LINES_MAX) return this.#write(left, fresh);
      }
      this.close();
      this.#write(this.#open(), fresh);
    });
  }

  close(): void {
    if (this.#left !== undefined) closeSync(this.#left.file);
    this.#left = undefined;
  }

  /** The file to write on, cut to its last whole line; a new one when the old one is full or makes no sense. */
  #open(): Left {
    const aside = this.#database.lines('events.jsonl');
    const file = openSync(this.#folder.mirror, 'a+', 0o600);
    try {
      const { ino: inode, size } = fstatSync(file);
      const tail = readTail(file, size);
      if (tail !== undefined && tail.id - aside <= FILE_LINES_MAX) {
        if (size > tail.end) ftruncateSync(file, tail.end);
        return { file, inode, size: tail.end, id: Math.max(tail.id, aside), aside };
      }
      putAside(this.#folder.mirror, this.#now());
      this.#database.setLines('events.jsonl', tail?.id ?? aside);
    } catch (error) {
      closeSync(file);
      throw error;
    }
    closeSync(file);
    return this.#open();
  }

  #write(left: Left, fresh: FreshEvents): void {
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

  #append(file: number, from: number, fresh: FreshEvents): { id: number; bytes: number } {
    const writer = new LineWriter(file);
    let id = from;
    const gapEnd = fresh.firstId - 1;
    while (id < gapEnd && writer.bytes < REPAIR_BYTES_MAX) {
      const rows = [
        ...this.#database.matches({ after: id, through: gapEnd }, undefined, REPAIR_ROWS),
      ];
      if (rows.length === 0) id = gapEnd;
      for (const row of rows) {
        writer.add(row);
        id = row.id;
      }
    }
    if (id >= gapEnd) {
      // Another process may have written some of them already, for this one was slow.
      for (let at = id + 1 - fresh.firstId; at < fresh.events.length; at += 1) {
        const event = fresh.events[at];
        if (event === undefined) break;
        const { source, type, subtype, content } = event;
        id = fresh.firstId + at;
        writer.add({ id, created_at: fresh.createdAt, source, type, subtype, content });
      }
    }
    writer.flush();
    return { id, bytes: writer.bytes };
  }
}

/** Collects lines into few writes. */
class LineWriter {
  readonly #file: number;
  #waiting = '';
  /** Of the lines written so far. */
  bytes = 0;

  constructor(file: number) {
    this.#file = file;
  }

  add(event: QueueEvent): void {
    this.#waiting += toLine(event);
    if (this.#waiting.length > WRITE_CHARS) this.flush();
  }

  flush(): void {
    const data = Buffer.from(this.#waiting);
    this.#waiting = '';
    for (let done = 0; done < data.length;) {
      const written = writeSync(this.#file, data, done);
      done += written;
      this.bytes += written;
    }
  }
}

/** Also what commands print: keys in the order of the columns. */
export function toLine({ id, created_at, source, type, subtype, content }: QueueEvent): string {
  // Half the time of an object, which counts when a batch is large.
  const kind = `"type":${quote(type)},"subtype":${subtype === null ? 'null' : quote(subtype)}`;
  return `{"id":${id},"created_at":${quote(created_at)},"source":${quote(source)},${kind},"content":${quote(content)}}\n`;
}

function quote(text: string): string {
  return JSON.stringify(text);
}
