import { readSync } from 'node:fs';

const PIECE_BYTES = 64 * 1024;
/** A line is one event in JSON. Its escapes take up to six bytes for one byte of the content. */
export const LINE_BYTES_MAX: number = 64 << 20;
const LINE_FEED = 0x0a;

export interface Tail {
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
  const id = idOf(line.toString('utf8'));
  return id === undefined ? undefined : { id, end };
}

/** The position just behind the last line feed before `before`, or 0 without one. Undefined when it is too far away. */
function lineEndBefore(file: number, before: number, size: number): number | undefined {
  const piece = Buffer.alloc(Math.min(PIECE_BYTES, size));
  for (let end = before; end > 0;) {
    if (before - end > LINE_BYTES_MAX) return undefined;
    const start = Math.max(0, end - piece.length);
    const read = readSync(file, piece, 0, end - start, start);
    const at = piece.subarray(0, read).lastIndexOf(LINE_FEED);
    if (at !== -1) return start + at + 1;
    end = start;
  }
  return 0;
}

function idOf(line: string): number | undefined {
  try {
    const { id } = JSON.parse(line) as { id?: unknown };
    return typeof id === 'number' && Number.isSafeInteger(id) ? id : undefined;
  } catch {
    // The line is not JSON, so it is not an event.
    return undefined;
  }
}
