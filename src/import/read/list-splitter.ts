import type { Line } from '../../base/json-lines.ts';

// The items of one long JSON array, one at a time: an export of all conversations may be larger than memory.

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN = [0x5b, 0x7b];
const CLOSE = [0x5d, 0x7d];

/** Cuts a JSON array into its items, or takes a value as a whole. What is no JSON comes out as it is. */
export class ListSplitter {
  readonly #maxBytes: number;
  /** The depth of brackets at which items stand. */
  readonly #level: number;
  #depth = 0;
  #inText = false;
  #escaped = false;
  #at = 0;
  #start = 0;
  #held = 0;
  #parts: Uint8Array[] = [];

  constructor(form: 'list' | 'whole', maxBytes: number) {
    this.#level = form === 'list' ? 1 : 0;
    this.#maxBytes = maxBytes;
  }

  *take(bytes: Uint8Array): Generator<Line, void, undefined> {
    let begin = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      if (!this.#step(bytes[at] ?? 0)) continue;
      this.#hold(bytes.subarray(begin, at));
      begin = at + 1;
      const item = this.#cut(this.#at + begin);
      if (item !== undefined) yield item;
    }
    this.#hold(bytes.subarray(begin));
    this.#at += bytes.length;
  }

  end(): Line | undefined {
    const last = this.#cut(this.#at);
    return last && { ...last, terminated: false };
  }

  /** True for a byte that stands between items: a comma, or a bracket of the array itself. */
  #step(byte: number): boolean {
    if (this.#inText) {
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else if (byte === QUOTE) this.#inText = false;
      return false;
    }
    if (byte === QUOTE) this.#inText = true;
    else if (OPEN.includes(byte)) {
      this.#depth += 1;
      return this.#level === 1 && this.#depth === 1 && byte === OPEN[0];
    } else if (CLOSE.includes(byte)) {
      this.#depth -= 1;
      return this.#level === 1 && this.#depth === 0;
    } else if (byte === COMMA) return this.#level === 1 && this.#depth === 1;
    return false;
  }

  #hold(piece: Uint8Array): void {
    this.#held += piece.length;
    if (this.#held > this.#maxBytes) this.#parts = [];
    else if (piece.length > 0) this.#parts.push(piece);
  }

  #cut(end: number): Line | undefined {
    const bytes = this.#held > this.#maxBytes ? undefined : Buffer.concat(this.#parts);
    const line = { start: this.#start, end, terminated: true, bytes };
    this.#parts = [];
    this.#held = 0;
    this.#start = end;
    return bytes?.toString('latin1').trim() === '' ? undefined : line;
  }
}
