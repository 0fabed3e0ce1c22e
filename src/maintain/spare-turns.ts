import type { Prefix } from './live-set.ts';

/** A turn that nothing was found to need, with the facts that bringing it back to life takes. */
export interface SpareTurn {
  readonly parent: number;
  readonly payload: Prefix;
}

const PAGE_ROWS = 16_384;
const WORDS = 4;

/** Turns by falling number, 16 bytes each, in pages, so that growing copies nothing. */
export class SpareTurns {
  readonly #pages: Uint32Array[] = [];
  #count = 0;

  /** Numbers must fall from call to call. */
  add(turn: number, parent: number, payload: Prefix): void {
    const row = this.#count % PAGE_ROWS;
    if (row === 0) this.#pages.push(new Uint32Array(PAGE_ROWS * WORDS));
    this.#pages.at(-1)?.set([turn, parent, payload.high, payload.low], row * WORDS);
    this.#count += 1;
  }

  find(turn: number): SpareTurn | undefined {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#word(middle, 0) > turn) low = middle + 1;
      else high = middle;
    }
    if (low === this.#count || this.#word(low, 0) !== turn) return undefined;
    const payload = { high: this.#word(low, 2), low: this.#word(low, 3) };
    return { parent: this.#word(low, 1), payload };
  }

  #word(row: number, word: number): number {
    const page = this.#pages[Math.floor(row / PAGE_ROWS)];
    return page?.[(row % PAGE_ROWS) * WORDS + word] ?? 0;
  }
}
