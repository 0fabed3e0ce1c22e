import type { Progress } from '../../engine.ts';
import type { CheckCounts, Problem } from '../../upkeep.ts';

/** The repair of a problem, beyond setting the bytes of a damaged record aside. */
export type Remedy = 'index' | 'publish' | 'journal' | 'head' | 'header' | 'format' | 'stray';

export interface Found extends Problem {
  /** The number of damaged bytes from `offset` on. 0 when the record itself is intact. */
  readonly length: number;
  readonly remedy?: Remedy;
}

/** Enough problems to act on, and a limit on memory. One repair takes this many, and the next one continues. */
const FOUND_MAX = 10_000;

/** Progress is reported each time this many more bytes were read. */
const TELL_BYTES = 4 * 1024 * 1024;

type Counts = { -readonly [Key in keyof CheckCounts]: CheckCounts[Key] };

/** The problems that a check has found so far. One problem is reported once, however many ways lead to it. */
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
  /** Problems set aside earlier are kept apart, so that a repair reaches the problems behind them. */
  readonly #setAside: Map<string, Found> = new Map();
  #more = 0;
  #totalBytes = 0;
  #untold = 0;

  /** `isSetAside` knows the problems whose bytes an earlier repair copied. They are reported all the same. */
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

  /** Counts the bytes that were read. */
  read(bytes: number, what: string): void {
    this.counts.bytes += bytes;
    this.#untold += bytes;
    if (this.#untold < TELL_BYTES && bytes > 0) return;
    this.#untold = 0;
    this.#progress?.(this.counts.bytes, Math.max(this.#totalBytes, this.counts.bytes), what);
  }

  /** Like `read`, and yields the thread to others: most of a check never waits for the disk. */
  async breathe(bytes: number, what: string): Promise<void> {
    this.read(bytes, what);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The index can always be rebuilt, so a problem in it is stale and never lost data. */
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
