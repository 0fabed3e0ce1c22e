import { QuipuError } from '../../base/errors.ts';
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
    const message = `${name} must be an integer >= 1, got: ${String(value)}`;
    throw new QuipuError('INVALID', message, { what: name });
  }
}

/**
 * Returns lines of a file, with a line that says how to go on. This reads the file in pieces, to the end, to count its
 * lines.
 */
export async function readLineRange(file: IoFile, range: LineRange): Promise<string> {
  const collector = new Collector(range.offset ?? 1, range.limit ?? Infinity);
  const size = await file.size();
  for (let at = 0; at < size;) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, size - at));
    const got = await file.read(piece, at);
    if (got === 0) break;
    collector.push(piece.subarray(0, got));
    at += got;
  }
  return collector.end();
}

type Stop = 'limit' | 'lines' | 'bytes';

class Collector {
  readonly #first: number;
  readonly #limit: number;
  /** The line being read, counted from 1. */
  #line = 1;
  #taken: Uint8Array[] = [];
  #takenBytes = 0;
  #lines = 0;
  #current: Uint8Array[] = [];
  #currentBytes = 0;
  #stop: Stop | undefined;
  #cutFirst = false;

  constructor(first: number, limit: number) {
    this.#first = first;
    this.#limit = limit;
  }

  push(bytes: Uint8Array): void {
    let begin = 0;
    for (let lf = bytes.indexOf(0x0a); lf !== -1; lf = bytes.indexOf(0x0a, begin)) {
      this.#hold(bytes.subarray(begin, lf));
      this.#endLine();
      this.#line++;
      begin = lf + 1;
    }
    this.#hold(bytes.subarray(begin));
  }

  end(): string {
    this.#endLine();
    const total = this.#line;
    const first = this.#first;
    if (first > total) {
      return `Offset ${first} is beyond end of resource (${total} lines total). Use offset=1 to read from the start, or offset=${total} to read the last line.`;
    }
    const last = first + this.#lines - 1;
    return Buffer.concat(this.#taken).toString('utf8') + this.#trailer(last, total);
  }

  get #isWanted(): boolean {
    return this.#stop === undefined && this.#line >= this.#first;
  }

  #hold(bytes: Uint8Array): void {
    if (!this.#isWanted || bytes.length === 0) return;
    this.#currentBytes += bytes.length;
    // One byte over is enough to know that the line does not fit.
    if (this.#currentBytes - bytes.length <= READ_BYTES_MAX) this.#current.push(bytes);
  }

  #endLine(): void {
    if (!this.#isWanted) return;
    const separator = this.#lines === 0 ? 0 : 1;
    if (this.#lines >= Math.min(this.#limit, DEFAULT_MAX_LINES)) {
      this.#stop = this.#lines >= this.#limit ? 'limit' : 'lines';
    } else if (this.#takenBytes + separator + this.#currentBytes <= READ_BYTES_MAX) {
      this.#take(Buffer.concat(this.#current));
    } else {
      this.#stop = 'bytes';
      if (this.#lines === 0) {
        this.#take(headOf(Buffer.concat(this.#current), READ_BYTES_MAX));
        this.#cutFirst = true;
      }
    }
    this.#current = [];
    this.#currentBytes = 0;
  }

  #take(line: Uint8Array): void {
    if (this.#lines > 0) this.#taken.push(Buffer.from('\n'));
    this.#taken.push(line);
    this.#takenBytes += line.length + (this.#lines > 0 ? 1 : 0);
    this.#lines++;
  }

  #trailer(last: number, total: number): string {
    const size = formatSize(READ_BYTES_MAX);
    if (last >= total) {
      return this.#cutFirst ? `\n\n[Showing the first ${size} of line ${last}]` : '';
    }
    const next = `Use offset=${last + 1} to continue]`;
    if (this.#stop === 'limit') return `\n\n[${total - last} more lines in resource. ${next}`;
    const why = this.#stop === 'bytes' ? ` (${size} limit)` : '';
    return `\n\n[Showing lines ${this.#first}-${last} of ${total}${why}. ${next}`;
  }
}
