import { LineSplitter, parseJsonLine, type JsonFields, type Line } from '../../base/json-lines.ts';
import { resolve } from 'node:path';
import { orNothing, corrupt, invalid, notFound, type QuipuError } from '../../base/errors.ts';
import { checkString, encodeUtf8 } from '../../base/text.ts';
import type { Io, IoFile } from '../../engine/io.ts';
import {
  isHeader,
  migrateEntry,
  SESSION_VERSION,
  toLine,
  type SessionEntry,
  type SessionHeader,
} from '../entries/session-entry.ts';
import { writeBehind } from '../files/carry-folder.ts';
import { carrySums, readSums } from '../files/file-sums.ts';
import { lockOf, parseSessionName } from '../files/session-names.ts';
import { isErrno, readBytes, toFileError, withFileLock, writeWhole } from '../files/write-file.ts';

/** Longer lines are passed over: no line that is written here comes near this size. */
export const LINE_BYTES_MAX: number = 64 * 1024 * 1024;
const PIECE_BYTES = 256 * 1024;
const LF = 0x0a;
const BYTE_ORDER_MARK = 0xfeff;

/** Lines end at the byte 0x0A and nowhere else. Memory is bounded by the longest line. */
export async function* readForward(
  file: IoFile,
  from: number,
  to: number,
): AsyncGenerator<Line, void, undefined> {
  const splitter = new LineSplitter(from, LINE_BYTES_MAX);
  for (let at = from; at < to;) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, to - at));
    const got = await file.read(piece, at);
    if (got === 0) break;
    yield* splitter.take(piece.subarray(0, got));
    at += got;
  }
  const last = splitter.end();
  if (last !== undefined) yield last;
}

/** Yields lines from the end: the last line first. No more of the file is read than was asked for. */
export async function* readBackward(
  file: IoFile,
  to: number,
  from: number = 0,
): AsyncGenerator<Line, void, undefined> {
  // The bytes between the place reached and the end of the line that is being put together, last part first.
  let parts: Uint8Array[] = [];
  let held = 0;
  let end = to;
  let terminated = false;
  const take = (start: number): Line => {
    const bytes = held > LINE_BYTES_MAX ? undefined : Buffer.concat(parts.toReversed());
    const line = { start, end, terminated, bytes };
    parts = [];
    held = 0;
    end = start;
    return line;
  };
  const hold = (piece: Uint8Array): void => {
    held += piece.length;
    if (held > LINE_BYTES_MAX) parts = [];
    else if (piece.length > 0) parts.push(piece);
  };
  let pieceBytes = Math.min(PIECE_BYTES, 32 * 1024);
  for (let at = to; at > from;) {
    const piece = Buffer.allocUnsafe(Math.min(pieceBytes, at - from));
    pieceBytes = PIECE_BYTES;
    at -= piece.length;
    const bytes = piece.subarray(0, await file.read(piece, at));
    let stop = bytes.length;
    for (let lf = bytes.lastIndexOf(LF); lf !== -1;) {
      hold(bytes.subarray(lf + 1, stop));
      const start = at + lf + 1;
      if (start < end) yield take(start);
      terminated = true;
      stop = lf;
      lf = lf === 0 ? -1 : bytes.lastIndexOf(LF, lf - 1);
    }
    hold(bytes.subarray(0, stop));
  }
  if (end > from) yield take(from);
}

/** The records on one line of a session file. */
interface ParsedLine {
  readonly records: readonly JsonFields[];
  /** Part of the line, or all of it, could not be read. */
  readonly malformed: boolean;
}

/**
 * Takes every record that can be read: whole records glued together, or one after a torn one. There are no bytes of a
 * line that is too long.
 */
export function parseLine(bytes: Uint8Array | undefined): ParsedLine {
  if (bytes === undefined) return { records: [], malformed: true };
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const line = text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
  const { records, lost } = parseJsonLine(line, ({ type }) => typeof type === 'string');
  return { records: records.map(({ value }) => value), malformed: lost !== '' };
}

/** A line of a file, with the entries on it. */
export interface EntryLine extends Line {
  readonly entries: readonly SessionEntry[];
  /** The number of entries up to the end of this line. Entries of version 1 are named by it. */
  readonly count: number;
  readonly version: number | undefined;
  readonly malformed: boolean;
}

interface EntrySpan {
  readonly from: number;
  readonly to: number;
  /** The number of entries before `from`; default 0. */
  readonly count?: number;
  /** The version in the header; undefined where the header is still to come. */
  readonly version: number | undefined;
}

/** Yields the lines of a part of a session file, in order. A header has no entries. */
export async function* readEntryLines(
  file: IoFile,
  { from, to, count = 0, version }: EntrySpan,
): AsyncGenerator<EntryLine, void, undefined> {
  const state = { count, version };
  for await (const line of readForward(file, from, to)) {
    const { records, malformed } = parseLine(line.bytes);
    const entries: SessionEntry[] = [];
    for (const record of records) {
      if (isHeader(record)) state.version ??= record.version;
      else entries.push(migrateEntry(record, { version: state.version, index: ++state.count }));
    }
    yield { ...line, ...state, entries, malformed };
  }
}

export interface HeaderOfFile {
  readonly header: SessionHeader;
  /** The position behind the header's line. */
  readonly end: number;
}

/** Reads no more of the file than its first record. */
export async function readHeader(file: IoFile, path: string): Promise<HeaderOfFile> {
  const size = await file.size();
  for await (const line of readForward(file, 0, size)) {
    const [record] = parseLine(line.bytes).records;
    if (isHeader(record)) return { header: withDefaults(record), end: line.end };
    if (line.bytes === undefined || line.bytes.some((byte) => byte > 0x20)) break;
  }
  throw corrupt(path, `Session header is missing or corrupt: ${path}`);
}

function withDefaults(header: SessionHeader): SessionHeader {
  const { timestamp, cwd } = header as Partial<SessionHeader>;
  if (typeof timestamp === 'string' && typeof cwd === 'string') return header;
  return { ...header, timestamp: String(timestamp ?? ''), cwd: String(cwd ?? '') };
}

/** Opens a session file for as long as `task` takes. */
export async function withFile<T>(
  io: Io,
  path: string,
  task: (file: IoFile) => Promise<T>,
  mode: 'read' | 'write' = 'read',
): Promise<T> {
  const file = await io.open(path, mode).catch((error: unknown) => {
    throw isErrno(error, 'ENOENT') ? noSession(path) : toFileError(error, path);
  });
  try {
    return await task(file);
  } finally {
    await file.close();
  }
}

export function noSession(path: string): QuipuError<'NOT_FOUND'> {
  return notFound('session', path, `there is no session at ${path}`);
}

export async function readHeaderOf(io: Io, path: string): Promise<SessionHeader> {
  return (await withFile(io, path, (file) => readHeader(file, path))).header;
}

/** Returns undefined when no header can be read. */
export async function idIn(io: Io, path: string): Promise<string | undefined> {
  return (await orNothing(() => readHeaderOf(io, path)))?.id;
}

/** Every byte of the file stays, behind the new header. A header that can be read is left as it is. */
export async function recoverHeader(io: Io, given: string): Promise<SessionHeader> {
  const path = resolve(checkString(given, 'file'));
  return withFileLock(io, lockOf(path), () =>
    withFile(io, path, async (file) => {
      const found = (await orNothing(() => readHeader(file, path), 'CORRUPT'))?.header;
      if (found !== undefined) return found;
      const named = parseSessionName(path);
      if (named === undefined)
        throw invalid('file', `must be called <timestamp>_<id>.jsonl, got ${path}`);
      const header: SessionHeader = {
        type: 'session',
        version: SESSION_VERSION,
        ...named,
        cwd: '',
      };
      const line = encodeUtf8(`${toLine(header)}\n`);
      const size = await file.size();
      const [first] = (await readSums(io, path)).ranges;
      const lost = await readBytes(file, Math.min(size, first?.end ?? 0));
      const parts = [{ from: 0, to: size }];
      await writeWhole(io, path, (target) => writeBehind(line, file, { target, parts }));
      // The old header is accepted as it is. The lines after it keep their checksums.
      await carrySums(io, { from: path, to: path }, [line, lost]).catch(() => undefined);
      return header;
    }),
  );
}
