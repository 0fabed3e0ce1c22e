/** Payloads copied at once: enough to save most of the allocations, little enough to waste none. */
const GROUP_BYTES = 256 * 1024;

/**
 * The payloads of one page, shared with the engine until somebody asks for bytes of their own. Copies are
 * made for neighbours together, in one buffer: 64 payloads of 10 KB cost 3 allocations instead of 64, which
 * take longer than the copying itself.
 */
export class PageBytes {
  readonly #shared: readonly Uint8Array[];
  /** Copies that nobody has asked for yet, by their place in the page. */
  readonly #ready: (Uint8Array | undefined)[] = [];
  readonly #given: Set<number> = new Set();

  constructor(shared: readonly Uint8Array[]) {
    this.#shared = shared;
  }

  /** The bytes for reading only. */
  view(index: number): Uint8Array | undefined {
    return this.#shared[index];
  }

  /** The bytes as the caller's own, a copy each time. */
  own(index: number): Uint8Array | undefined {
    if (this.#given.has(index)) return new Uint8Array(this.#shared[index] ?? []);
    if (this.#ready[index] === undefined) this.#copyFrom(index);
    const own = this.#ready[index];
    this.#ready[index] = undefined;
    this.#given.add(index);
    return own;
  }

  #copyFrom(first: number): void {
    let end = first;
    let bytes = 0;
    while (end < this.#shared.length && !this.#given.has(end)) {
      const length = this.#shared[end]?.length ?? 0;
      if (end > first && bytes + length > GROUP_BYTES) break;
      bytes += length;
      end += 1;
    }
    // Not zeroed: every byte is written below.
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
