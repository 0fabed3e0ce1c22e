import { QuipuError } from '../../base/errors.ts';
import { shown } from '../../base/text.ts';
import type { IoFile } from '../../engine/io.ts';
import { formatSize, headOf } from '../sink/output-window.ts';

/** The limits of one read. */
const DEFAULT_MAX_LINES = 3000;
const READ_BYTES_MAX = 51_200;
const PIECE_BYTES = 256 * 1024;

export interface LineRange {
  /** The first line, counted from 1. */
  readonly offset?: number;
  /** The number of lines. */
  readonly limit?: number;
}

export function checkLineRange({ offset, limit }: LineRange): void {
  for (const [name, value] of Object.entries({ offset, limit })) {
    if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) continue;
    const message = `${name} must be an integer >= 1, got: ${shown(value)}`;
    throw new QuipuError('INVALID', message, { what: name });
  }
}

/**
 * Returns lines of a file, with a line that says how to go on. This reads the file in pieces, to the end, to count its
 * lines.
 */
export async function readLineRange(
  file: IoFile,
  { offset: first = 1, limit = Infinity }: LineRange,
): Promise<string> {
  const taken: Uint8Array[] = [];
  let takenBytes = 0;
  let stop: 'limit' | 'lines' | 'bytes' | undefined;
  let isCut = false;
  /** The line being read, counted from 1, and what is there of it, if it is wanted. */
  let line = 1;
  let current: Uint8Array[] = [];
  let currentBytes = 0;

  function hold(bytes: Uint8Array): void {
    if (stop !== undefined || line < first || bytes.length === 0) return;
    // One byte over is enough to know that the line does not fit.
    if (currentBytes <= READ_BYTES_MAX) current.push(bytes);
    currentBytes += bytes.length;
  }

  function endLine(): void {
    if (stop !== undefined || line < first) return;
    const size = currentBytes + (taken.length === 0 ? 0 : 1);
    if (taken.length >= Math.min(limit, DEFAULT_MAX_LINES)) {
      stop = taken.length >= limit ? 'limit' : 'lines';
    } else if (takenBytes + size <= READ_BYTES_MAX) {
      taken.push(Buffer.concat(current));
      takenBytes += size;
    } else {
      stop = 'bytes';
      isCut = taken.length === 0;
      if (isCut) taken.push(headOf(Buffer.concat(current), READ_BYTES_MAX));
    }
    [current, currentBytes] = [[], 0];
  }

  const size = await file.size();
  for (let at = 0; at < size;) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, size - at));
    const bytes = piece.subarray(0, await file.read(piece, at));
    if (bytes.length === 0) break;
    let begin = 0;
    for (let lf = bytes.indexOf(0x0a); lf !== -1; lf = bytes.indexOf(0x0a, begin)) {
      hold(bytes.subarray(begin, lf));
      endLine();
      line += 1;
      begin = lf + 1;
    }
    hold(bytes.subarray(begin));
    at += bytes.length;
  }
  endLine();
  if (first > line) {
    return `Offset ${first} is beyond end of resource (${line} lines total). Use offset=1 to read from the start, or offset=${line} to read the last line.`;
  }
  const last = first + taken.length - 1;
  const text = taken.map((bytes) => Buffer.from(bytes).toString('utf8')).join('\n');
  const shownSize = formatSize(READ_BYTES_MAX);
  if (last >= line)
    return isCut ? `${text}\n\n[Showing the first ${shownSize} of line ${last}]` : text;
  const next = `Use offset=${last + 1} to continue]`;
  if (stop === 'limit') return `${text}\n\n[${line - last} more lines in resource. ${next}`;
  const why = stop === 'bytes' ? ` (${shownSize} limit)` : '';
  return `${text}\n\n[Showing lines ${first}-${last} of ${line}${why}. ${next}`;
}
