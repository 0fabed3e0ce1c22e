// This also runs in a browser.

/** Bytes that lie in several places and travel as one array, so that nobody has to copy them together first. */
export class ByteParts {
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(part: Uint8Array): void {
    this.#parts.push(part);
    this.#length += part.length;
  }

  [Symbol.iterator](): Iterator<Uint8Array> {
    return this.#parts.values();
  }

  /** Copies all parts into one array. */
  joined(): Uint8Array {
    const bytes = new Uint8Array(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  }
}

export type CallBytes = Uint8Array | ByteParts;

/** Returns the bytes in one array. Bytes that are in one array already are not copied. */
export function inOne(bytes: CallBytes): Uint8Array {
  return bytes instanceof ByteParts ? bytes.joined() : bytes;
}
