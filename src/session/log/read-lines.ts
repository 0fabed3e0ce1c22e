import { parseBoundedJson } from '../../base/bounded-json.ts';
import type { IoFile } from '../../engine/io.ts';

/** Longer lines are passed over: no line that is written here comes near this size. */
export const LINE_BYTES_MAX: number = 64 * 1024 * 1024;
const PIECE_BYTES = 256 * 1024;
const LF = 0x0a;

export interface Line {
  /** The position in the file where the line begins. */
  readonly start: number;
  /** The position behind the line's last byte, the line break included. */
  readonly end: number;
  /** False for a last line without a line break. */
  readonly terminated: boolean;
  /** The line without the line break; undefined for a line that is too long. */
  readonly bytes: Uint8Array | undefined;
}

/** Lines end at the byte 0x0A and nowhere else. Memory is bounded by the longest line. */
export async function* readForward(
  file: IoFile,
  from: number,
  to: number,
): AsyncGenerator<Line, void, undefined> {
  let parts: Uint8Array[] = [];
  let held = 0;
  let start = from;
  const take = (end: number, terminated: boolean): Line => {
    const bytes = held > LINE_BYTES_MAX ? undefined : Buffer.concat(parts);
    const line = { start, end, terminated, bytes };
    parts = [];
    held = 0;
    start = end;
    return line;
  };
  const hold = (piece: Uint8Array): void => {
    held += piece.length;
    if (held > LINE_BYTES_MAX) parts = [];
    else if (piece.length > 0) parts.push(piece);
  };
  for (let at = from; at < to;) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, to - at));
    const got = await file.read(piece, at);
    if (got === 0) break;
    const bytes = piece.subarray(0, got);
    let begin = 0;
    for (let lf = bytes.indexOf(LF); lf !== -1; lf = bytes.indexOf(LF, begin)) {
      hold(bytes.subarray(begin, lf));
      begin = lf + 1;
      yield take(at + begin, true);
    }
    hold(bytes.subarray(begin));
    at += got;
  }
  if (held > 0) yield take(start + held, false);
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

type Fields = Record<string, unknown>;

/** The records on one line of a session file. */
interface ParsedLine {
  readonly records: readonly Fields[];
  /** Part of the line, or all of it, could not be read. */
  readonly malformed: boolean;
}

const NOTHING: ParsedLine = { records: [], malformed: false };
/**
 * The number of places tried at which a whole record may begin inside a damaged line. Each try reads the rest of the
 * line.
 */
const TRIES = 32;

/** Takes every record that can be read: whole records glued together, or one after a torn one. */
export function parseLine(bytes: Uint8Array): ParsedLine {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const line = text.replace(/^\uFEFF/, '').replace(/\r$/, '');
  if (line.trim() === '') return NOTHING;
  const whole = parseObject(line);
  if (whole !== undefined) return { records: [whole], malformed: false };
  const { records, rest } = takeWholeObjects(line);
  if (rest === '') return { records, malformed: false };
  const last = takeSuffix(rest);
  return { records: last === undefined ? records : [...records, last], malformed: true };
}

function parseObject(text: string): Fields | undefined {
  try {
    const value: unknown = parseBoundedJson(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as Fields;
    }
  } catch {
    // The line is damaged. The caller looks for whole records in it.
  }
  return undefined;
}

/** Splits `{…}{…}`, minding braces in texts, until something is not a whole object. */
function takeWholeObjects(line: string): { records: Fields[]; rest: string } {
  const records: Fields[] = [];
  let start = 0;
  while (start < line.length) {
    const end = endOfObject(line, start);
    const record = end === -1 ? undefined : parseObject(line.slice(start, end));
    if (record === undefined) break;
    records.push(record);
    start = end;
  }
  return { records, rest: line.slice(start).trim() };
}

function endOfObject(text: string, start: number): number {
  if (text[start] !== '{') return -1;
  let depth = 0;
  let inText = false;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (inText) {
      if (char === '\\') at++;
      else if (char === '"') inText = false;
    } else if (char === '"') inText = true;
    else if (char === '{') depth++;
    else if (char === '}') {
      depth--;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

/** Takes a record that was written after half of another: from one `{"` to the end of the line. */
function takeSuffix(text: string): Fields | undefined {
  let at = text.indexOf('{"', 1);
  for (let tries = 0; at !== -1 && tries < TRIES; tries++) {
    const record = parseObject(text.slice(at));
    if (record !== undefined && typeof record['type'] === 'string') return record;
    at = text.indexOf('{"', at + 1);
  }
  return undefined;
}
