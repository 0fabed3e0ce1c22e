import {
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  statSync,
  writeSync,
  readSync,
  readdirSync,
} from 'node:fs';
import { join } from 'node:path';
import { parseJsonObject } from '../../base/fields.ts';
import { LineSplitter } from '../../base/json-lines.ts';
import { FILE_LINES_MAX } from '../events/check-input.ts';
import { toLine, readLine } from '../events/event-line.ts';
import type { QueueEvent } from '../events/queue.ts';
import type { IdRange } from '../events/scan.ts';
import type { Inserted } from './event-table.ts';
import type { QueueDatabase } from './queue-database.ts';
import { putAside, type QueueFolder } from './queue-folder.ts';

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

// Reads the mirror: events.jsonl and the older files, as one list of lines. Anyone may have damaged them, so a line
// counts only where it stands in its place, next to its neighbour.

const PIECE_BYTES = 1 << 20;
const LF = 0x0a;
const BEGINNING = /^\{"id":(\d{1,16}),/;

/** The oldest file comes first. */
function mirrorFiles({ path, mirror }: QueueFolder): string[] {
  const old = readdirSync(path).filter((name) => /^events-\d{8}-\d{6}(?:-\d+)?\.jsonl$/.test(name));
  const byAge = old.toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1));
  // Of files from one second, those with a number are younger.
  const stamp = (name: string): string => name.slice(0, 'events-YYYYMMDD-HHmmss'.length);
  byAge.sort((a, b) => (stamp(a) < stamp(b) ? -1 : stamp(a) > stamp(b) ? 1 : 0));
  return [...byAge.map((name) => join(path, name)), mirror];
}

/** The last event that the mirror knows of, as its last line says, which may be untrue; 0 for none. */
export function mirrorEnd(folder: QueueFolder): number {
  const end = endOf(folder.mirror);
  if (end > 0) return end;
  return mirrorFiles(folder).reduce((last, path) => Math.max(last, endOf(path)), 0);
}

function endOf(path: string): number {
  const file = tryOpen(path);
  if (file === undefined) return 0;
  try {
    const tail = readTail(file, fstatSync(file).size);
    if (tail !== undefined) return tail.id;
    // The last line is not an event, so the last line that is one counts.
    let last = 0;
    for (const line of linesOf(file)) last = idOf(line) ?? last;
    return last;
  } finally {
    closeSync(file);
  }
}

/** The events with these ids that stand in their places, with the checksums of their lines. */
export function* mirroredEvents(
  folder: QueueFolder,
  isWanted: (id: number) => boolean,
): Generator<{ event: QueueEvent; sum: number }, void, undefined> {
  let before = 0;
  /** An event that does not follow its neighbour. */
  let doubtful: { event: QueueEvent; sum: number } | undefined;
  for (const path of mirrorFiles(folder)) {
    const file = tryOpen(path);
    if (file === undefined) continue;
    try {
      for (const line of linesOf(file)) {
        const id = idOf(line);
        if (id === undefined) continue;
        if (doubtful?.event.id === id - 1) yield doubtful;
        doubtful = undefined;
        const found = isWanted(id) ? readLine(line) : undefined;
        if (found !== undefined && id === before + 1) yield found;
        else doubtful = found;
        before = id;
      }
    } finally {
      closeSync(file);
    }
  }
}

function idOf(line: Uint8Array): number | undefined {
  const [, id] = BEGINNING.exec(Buffer.from(line.subarray(0, 40)).toString('latin1')) ?? [];
  return id === undefined ? undefined : Number(id);
}

/** Yields the lines that end with a line feed, without those that are longer than any line of ours. */
function* linesOf(file: number): Generator<Uint8Array, void, undefined> {
  const splitter = new LineSplitter(0, LINE_BYTES_MAX);
  for (let at = 0; ;) {
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    const read = readSync(file, piece, 0, PIECE_BYTES, at);
    if (read === 0) return;
    at += read;
    for (const { bytes } of splitter.take(piece.subarray(0, read))) {
      if (bytes !== undefined) yield bytes;
    }
  }
}

/** Returns undefined when there is no such file, or something else under its name. */
function tryOpen(path: string): number | undefined {
  try {
    const file = openSync(path, 'r');
    if (fstatSync(file).isFile()) return file;
    closeSync(file);
    return undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

const TAIL_BYTES = 64 * 1024;
/** A line is one event in JSON. Its escapes take up to six bytes for one byte of the content. */
const LINE_BYTES_MAX: number = 64 << 20;

interface Tail {
  /** The event of the last whole line, 0 when there is no line at all. */
  readonly id: number;
  /** The end of the last whole line. The beginning of a line that was cut off may follow. */
  readonly end: number;
}

/**
 * Finds the last event of a file of events, from the end of the file. Returns undefined when the last line is not an
 * event.
 */
function readTail(file: number, size: number): Tail | undefined {
  const end = lineEndBefore(file, size, size);
  if (end === undefined) return undefined;
  if (end === 0) return { id: 0, end: 0 };
  const start = lineEndBefore(file, end - 1, size);
  if (start === undefined) return undefined;
  const line = Buffer.alloc(end - 1 - start);
  readSync(file, line, 0, line.length, start);
  const id = parseJsonObject(line.toString('utf8'))?.['id'];
  return typeof id === 'number' && Number.isSafeInteger(id) ? { id, end } : undefined;
}

/** The position just behind the last line feed before `before`, or 0 without one. Undefined when it is too far away. */
function lineEndBefore(file: number, before: number, size: number): number | undefined {
  const piece = Buffer.alloc(Math.min(TAIL_BYTES, size));
  for (let end = before; end > 0;) {
    if (before - end > LINE_BYTES_MAX) return undefined;
    const start = Math.max(0, end - piece.length);
    const read = readSync(file, piece, 0, end - start, start);
    const at = piece.subarray(0, read).lastIndexOf(LF);
    if (at !== -1) return start + at + 1;
    end = start;
  }
  return 0;
}
