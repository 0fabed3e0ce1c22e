/** The number of payload bytes copied at once: enough to save most of the allocations, little enough to waste none. */
const GROUP_BYTES = 256 * 1024;

/** A page that is handed out as it is stays in memory as long as any of its payloads. */
const HANDED_OUT_BYTES_MAX = 1024 * 1024;

/**
 * The payloads of one page, shared with the engine until a caller asks for bytes of its own. Copies are made for
 * neighbours together, in one buffer: 64 payloads of 10 KB cost 3 allocations instead of 64, which take longer than the
 * copying itself.
 */
export class PageBytes {
  readonly #shared: readonly Uint8Array[];
  readonly #handsOut: boolean;
  /** Copies that nobody has asked for yet, by their place in the page. */
  readonly #ready: (Uint8Array | undefined)[] = [];
  /** The payloads whose bytes a caller has, by their place in the page. */
  readonly #given: true[] = [];

  /**
   * `unshared`: nobody else has these bytes, such as those of a page that came over a connection. They are handed out
   * without a copy, which took a third of the time of a page of 64 payloads of 10 KB.
   */
  constructor(
    payloads: readonly Uint8Array[],
    { unshared = false }: { readonly unshared?: boolean } = {},
  ) {
    this.#shared = payloads;
    this.#handsOut = unshared && totalOf(payloads) <= HANDED_OUT_BYTES_MAX;
  }

  /** Returns the bytes for reading only. */
  view(index: number): Uint8Array | undefined {
    return this.#shared[index];
  }

  /** Returns the bytes as the caller's own. Ask once for each payload. */
  own(index: number): Uint8Array | undefined {
    if (this.#handsOut) return this.#shared[index];
    if (this.#given[index]) return new Uint8Array(this.#shared[index] ?? []);
    if (this.#ready[index] === undefined) this.#copyFrom(index);
    const own = this.#ready[index];
    this.#ready[index] = undefined;
    this.#given[index] = true;
    return own;
  }

  #copyFrom(first: number): void {
    let end = first;
    let bytes = 0;
    while (end < this.#shared.length && !this.#given[end]) {
      const length = this.#shared[end]?.length ?? 0;
      if (end > first && bytes + length > GROUP_BYTES) break;
      bytes += length;
      end += 1;
    }
    // The memory is not zeroed: every byte is written below.
    const { buffer } = Buffer.allocUnsafeSlow(bytes);
    let at = 0;
    for (let index = first; index < end; index += 1) {
      const shared = this.#shared[index] ?? new Uint8Array();
      const own = new Uint8Array(buffer, at, shared.length);
      own.set(shared);
      this.#ready[index] = own;
      at += shared.length;
    }
  }
}

function totalOf(payloads: readonly Uint8Array[]): number {
  return payloads.reduce((sum, { length }) => sum + length, 0);
}
