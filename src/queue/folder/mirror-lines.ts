import { closeSync, fstatSync, openSync, readSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readLine } from '../events/event-line.ts';
import type { QueueEvent } from '../events/queue.ts';
import type { QueueFolder } from './queue-folder.ts';

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

/** Yields the lines that end with a line feed. */
function* linesOf(file: number): Generator<Buffer, void, undefined> {
  let rest: Buffer = Buffer.alloc(0);
  for (let at = 0; ;) {
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    const read = readSync(file, piece, 0, PIECE_BYTES, at);
    if (read === 0) return;
    at += read;
    rest =
      rest.length === 0 ? piece.subarray(0, read) : Buffer.concat([rest, piece.subarray(0, read)]);
    let start = 0;
    for (let end = rest.indexOf(LF); end !== -1; end = rest.indexOf(LF, start)) {
      yield rest.subarray(start, end);
      start = end + 1;
    }
    rest = rest.subarray(start);
    // No line of ours is as long as that.
    if (rest.length > LINE_BYTES_MAX) rest = Buffer.alloc(0);
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
export function readTail(file: number, size: number): Tail | undefined {
  const end = lineEndBefore(file, size, size);
  if (end === undefined) return undefined;
  if (end === 0) return { id: 0, end: 0 };
  const start = lineEndBefore(file, end - 1, size);
  if (start === undefined) return undefined;
  const line = Buffer.alloc(end - 1 - start);
  readSync(file, line, 0, line.length, start);
  const id = parseId(line.toString('utf8'));
  return id === undefined ? undefined : { id, end };
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

function parseId(line: string): number | undefined {
  try {
    const { id } = JSON.parse(line) as { id?: unknown };
    return typeof id === 'number' && Number.isSafeInteger(id) ? id : undefined;
  } catch {
    // The line is not JSON, so it is not an event.
    return undefined;
  }
}
