import { LineSplitter, parseJsonLine, type JsonFields, type Line } from '../../base/json-lines.ts';
import type { IoFile } from '../../engine/io.ts';

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
