import { headOf } from './utf8-cut.ts';

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
