interface WindowView {
  readonly text: string;
  /** The number of bytes of the text that are shown, without the marker. */
  readonly bytes: number;
  readonly elidedLines: number;
  readonly elidedBytes: number;
}

/** The beginning and the end of a text, within one budget, in memory of that size. */
export class OutputWindow {
  readonly #limit: number;
  readonly #headLimit: number;
  readonly #head: Uint8Array[] = [];
  #headBytes = 0;
  #headClosed: boolean;
  /** Holds up to twice the tail, so that bytes are moved rarely. */
  #tail: Buffer;
  #tailBytes = 0;
  totalBytes = 0;

  constructor(limit: number, headBytes: number) {
    this.#limit = limit;
    this.#headLimit = Math.min(headBytes, Math.floor(limit / 2));
    this.#headClosed = this.#headLimit === 0;
    this.#tail = Buffer.alloc(Math.min(2 * limit, 4096));
  }

  get isTruncated(): boolean {
    return this.totalBytes > this.#limit;
  }

  push(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.totalBytes += bytes.length;
    const rest = this.#headClosed ? bytes : this.#fillHead(bytes);
    const limit = this.#limit - this.#headBytes;
    this.#pushTail(rest, limit);
  }

  /** `lineBreaks`: the number in everything that was pushed. */
  view(lineBreaks: number): WindowView {
    const head = Buffer.concat(this.#head);
    const held = this.#tail.subarray(0, this.#tailBytes);
    if (!this.isTruncated) {
      const text = head.toString('utf8') + held.toString('utf8');
      return { text, bytes: this.totalBytes, elidedLines: 0, elidedBytes: 0 };
    }
    // The held bytes may begin inside a character: then there is one byte too many for `tailOf`.
    const tail = wholeFrom(tailOf(held, this.#limit - this.#headBytes));
    const bytes = head.length + tail.length;
    const elidedBytes = this.totalBytes - bytes;
    const shownLines = countShown(head) + countLineBreaks(tail) + 1;
    const elidedLines = Math.max(0, lineBreaks + 1 - shownLines);
    const end = Buffer.from(tail).toString('utf8');
    if (head.length === 0) return { text: end, bytes, elidedLines, elidedBytes };
    const begin = head.toString('utf8');
    const before = begin.endsWith('\n') ? '' : '\n';
    const after = end.startsWith('\n') ? '' : '\n';
    const text = `${begin}${before}${elisionMarker(elidedLines, elidedBytes)}${after}${end}`;
    return { text, bytes, elidedLines, elidedBytes };
  }

  /** The first text that does not fit closes the head, so that the text keeps its order. */
  #fillHead(bytes: Uint8Array): Uint8Array {
    const taken = headOf(bytes, this.#headLimit - this.#headBytes);
    if (taken.length > 0) this.#head.push(Buffer.from(taken));
    this.#headBytes += taken.length;
    if (taken.length < bytes.length) this.#headClosed = true;
    return bytes.subarray(taken.length);
  }

  #pushTail(bytes: Uint8Array, limit: number): void {
    if (bytes.length >= limit) {
      this.#keep(bytes.subarray(bytes.length - limit));
      return;
    }
    const needed = this.#tailBytes + bytes.length;
    if (needed > this.#tail.length) this.#makeRoom(needed, limit - bytes.length);
    this.#tail.set(bytes, this.#tailBytes);
    this.#tailBytes += bytes.length;
  }

  #keep(bytes: Uint8Array): void {
    if (bytes.length > this.#tail.length) this.#tail = Buffer.alloc(2 * this.#limit);
    this.#tail.set(bytes, 0);
    this.#tailBytes = bytes.length;
  }

  #makeRoom(needed: number, keepBytes: number): void {
    if (needed <= 2 * this.#limit) {
      const larger = Buffer.alloc(Math.min(2 * this.#limit, Math.max(2 * needed, 4096)));
      this.#tail.copy(larger, 0, 0, this.#tailBytes);
      this.#tail = larger;
      return;
    }
    const from = Math.max(0, this.#tailBytes - keepBytes);
    this.#tail.copy(this.#tail, 0, from, this.#tailBytes);
    this.#tailBytes -= from;
  }
}

/** Counts the lines of which at least a part is in the head. */
function countShown(head: Uint8Array): number {
  if (head.length === 0) return 0;
  return countLineBreaks(head) + (head.at(-1) === 0x0a ? 0 : 1);
}

const ELLIPSIS = Buffer.from('…');
const LF = 0x0a;

/**
 * Cuts lines over `maxBytes` to their longest beginning of `maxBytes - 3` bytes and an ellipsis. This class holds back
 * the end of a line that may turn out too long, so the result does not depend on how the text was cut into pieces.
 */
export class ColumnCap {
  readonly #maxBytes: number;
  /** The line so far, while it may still fit. */
  #line: Uint8Array[] = [];
  #lineBytes = 0;
  /** The line is too long: the rest of it is dropped. */
  #dropping = false;
  truncatedLines = 0;
  droppedBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(bytes: Uint8Array): Uint8Array {
    const out: Uint8Array[] = [];
    let begin = 0;
    while (begin < bytes.length) {
      const lf = bytes.indexOf(LF, begin);
      const stop = lf === -1 ? bytes.length : lf;
      this.#add(bytes.subarray(begin, stop), out);
      if (lf === -1) break;
      out.push(...this.#line, bytes.subarray(lf, lf + 1));
      this.#startLine();
      begin = lf + 1;
    }
    return Buffer.concat(out);
  }

  /** Returns the bytes held back, now that nothing follows. */
  end(): Uint8Array {
    const rest = Buffer.concat(this.#line);
    this.#startLine();
    return rest;
  }

  #startLine(): void {
    this.#line = [];
    this.#lineBytes = 0;
    this.#dropping = false;
  }

  #add(part: Uint8Array, out: Uint8Array[]): void {
    if (part.length === 0) return;
    if (this.#dropping) {
      this.droppedBytes += part.length;
      return;
    }
    // This copies: a line may wait for long, and the piece it came in may be large.
    const isOver = this.#lineBytes + part.length > this.#maxBytes;
    this.#line.push(isOver ? part : Buffer.from(part));
    this.#lineBytes += part.length;
    if (!isOver) return;
    const line = Buffer.concat(this.#line);
    const shown = headOf(line, Math.max(0, this.#maxBytes - ELLIPSIS.length));
    out.push(shown, ELLIPSIS);
    this.truncatedLines++;
    this.droppedBytes += line.length - shown.length;
    this.#line = [];
    this.#dropping = true;
  }
}

/** The longest beginning of at most `limit` bytes that ends between two characters. */
export function headOf(bytes: Uint8Array, limit: number): Uint8Array {
  if (bytes.length <= limit) return bytes;
  let end = limit;
  while (end > 0 && isContinuation(bytes[end])) end--;
  return bytes.subarray(0, end);
}

/** The longest end of at most `limit` bytes that begins between two characters. */
export function tailOf(bytes: Uint8Array, limit: number): Uint8Array {
  if (bytes.length <= limit) return bytes;
  return wholeFrom(bytes.subarray(bytes.length - limit));
}

/** Returns the bytes without the rest of a character at the beginning. */
export function wholeFrom(bytes: Uint8Array): Uint8Array {
  let start = 0;
  while (start < bytes.length && isContinuation(bytes[start])) start++;
  return bytes.subarray(start);
}

export function countLineBreaks(bytes: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === 0x0a) count++;
  return count;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

const UNITS = ['KB', 'MB', 'GB'] as const;

/** `512B`, `4.0KB`, `5.0MB`, `1.0GB`. */
export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes}B`;
  let amount = bytes / 1024;
  let unit = 0;
  while (amount >= 1024 && unit < UNITS.length - 1) {
    amount /= 1024;
    unit++;
  }
  return `${amount.toFixed(1)}${UNITS[unit] ?? 'GB'}`;
}

/** The marker stands for the text left out between the beginning and the end. */
export function elisionMarker(lines: number, bytes: number): string {
  const size = formatSize(bytes);
  if (lines === 0) return `[… ${size} elided …]`;
  const count = `${lines.toLocaleString('en-US')} ${lines === 1 ? 'line' : 'lines'}`;
  return `[… ${count} elided (${size}) …]`;
}
