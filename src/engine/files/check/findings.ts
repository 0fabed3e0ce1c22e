import type { Progress } from '../../engine.ts';
import type { CheckCounts, Problem } from '../../upkeep.ts';

/** What a repair does about a problem, beyond setting the bytes of a damaged record aside. */
export type Remedy = 'index' | 'publish' | 'journal' | 'head' | 'header' | 'format' | 'stray';

export interface Found extends Problem {
  /** How many bytes from `offset` on are damaged; 0 when the record itself is intact. */
  readonly length: number;
  readonly remedy?: Remedy;
}

/** Enough to act on, and a bound on memory. A repair takes this many at once; the next one goes on. */
const FOUND_MAX = 10_000;

/** Progress is told when this much more was read. */
const TELL_BYTES = 4 * 1024 * 1024;

type Counts = { -readonly [Key in keyof CheckCounts]: CheckCounts[Key] };

/** What a check has seen so far. One problem is told once, however many ways lead to it. */
export class Findings {
  readonly counts: Counts = {
    turns: 0,
    contexts: 0,
    patches: 0,
    blobs: 0,
    docs: 0,
    logs: 0,
    bytes: 0,
  };
  readonly #progress: Progress | undefined;
  readonly #isSetAside: (problem: Problem) => boolean;
  readonly #found: Map<string, Found> = new Map();
  /** Kept apart, so that a repair gets to what is behind them. */
  readonly #setAside: Map<string, Found> = new Map();
  #more = 0;
  #totalBytes = 0;
  #untold = 0;

  /** `isSetAside` knows the problems whose bytes an earlier repair has copied; they are told all the same. */
  constructor(progress: Progress | undefined, isSetAside: (problem: Problem) => boolean) {
    this.#progress = progress;
    this.#isSetAside = isSetAside;
  }

  get found(): readonly Found[] {
    return [...this.#found.values(), ...this.#setAside.values()];
  }

  get more(): number {
    return this.#more;
  }

  add(problem: Found): void {
    const key = `${problem.file} ${problem.offset} ${problem.what} ${problem.id ?? ''}`;
    const found = this.#isSetAside(problem) ? this.#setAside : this.#found;
    if (found.has(key)) return;
    if (found.size < FOUND_MAX) found.set(key, problem);
    else this.#more += 1;
  }

  expectBytes(bytes: number): void {
    this.#totalBytes += bytes;
  }

  /** Counts what was read. */
  read(bytes: number, what: string): void {
    this.counts.bytes += bytes;
    this.#untold += bytes;
    if (this.#untold < TELL_BYTES && bytes > 0) return;
    this.#untold = 0;
    this.#progress?.(this.counts.bytes, Math.max(this.#totalBytes, this.counts.bytes), what);
  }

  /** The same, and lets others have the thread: most of a check never waits for the disk. */
  async rest(bytes: number, what: string): Promise<void> {
    this.read(bytes, what);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The index can always be made again, so whatever is wrong with it is stale and never lost. */
export function staleIndex(what: string, id?: string): Found {
  const about = id === undefined ? {} : { id };
  return {
    what,
    file: 'index.db',
    offset: 0,
    ...about,
    severity: 'stale',
    length: 0,
    remedy: 'index',
  };
}
