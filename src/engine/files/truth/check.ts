import type { Hash } from '../../../base/brand.ts';
import type { Progress } from '../../engine.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Totals } from '../index/shelf.ts';
import type { State, StateWriter, Tails } from './state.ts';
import type { CheckCounts, Problem } from '../../upkeep.ts';
import type { HeadMove } from '../../../format/head-moves.ts';

// The shared state of a check. A check runs beside writers. It checks what the snapshot covers. Anything that looks
// wrong and could have moved meanwhile is checked again between commits, before it is called a problem.

export interface Snapshot {
  readonly tails: Tails;
  readonly totals: Totals;
  readonly openTurns: ReadonlySet<number>;
}

export interface Check {
  readonly writer: StateWriter;
  readonly core: State;
  readonly files: StoreFiles;
  readonly findings: Findings;
  readonly snapshot: Snapshot;
  readonly blobs: BlobVerdicts;
  /** Set by the check of turns, for the truths after it. */
  turns: TurnVerdicts;
  /** Where heads were moved without a new turn, by the check of documents. */
  readonly moves: Map<number, HeadMove>;
}

/** The facts that the check of turns found, for the checks of records that refer to turns. */
export interface TurnVerdicts {
  isIntact(turn: number): boolean;
  depthOf(turn: number): number;
  /** The newest turn that was appended to the context. 0 when there is none. */
  newestIn(context: number): number;
}

/** Stands here until turns have been checked. */
export const NO_TURNS: TurnVerdicts = {
  isIntact: () => false,
  depthOf: () => 0,
  newestIn: () => 0,
};

/** Reports files that are shorter than the tails say. */
export async function checkLengths(
  { files, findings }: Check,
  lengths: Iterable<readonly [string, number]>,
): Promise<void> {
  for (const [file, length] of lengths) {
    const offset = await files.size(file);
    if (offset >= length) continue;
    findings.add(lost(file, offset, `the file should have ${length} bytes`));
  }
}

/** The snapshot is taken without a wait, so all parts are of the same moment. */
export function takeSnapshot({ core }: StateWriter): Snapshot {
  return {
    tails: core.tails,
    totals: core.index.totals,
    openTurns: new Set(core.openTurns.keys()),
  };
}

/**
 * The results of the pack check about blobs, for the checks of records that refer to blobs. The sets hold the
 * problems.
 */
export class BlobVerdicts {
  /** Blobs in the index whose record is damaged. */
  readonly unreadable: Set<Hash> = new Set();
  /** Blobs that are intact in a pack and missing in the index. */
  readonly unindexed: Set<Hash> = new Set();
  readonly missingPacks: Set<number> = new Set();
  /** The blobs in the index. Undefined until the index has been walked. */
  known: { sizeOf(hash: Hash): number | undefined } | undefined;

  /** Also true for an erased blob: its absence is no damage. */
  isThere(core: State, hash: Hash): boolean {
    return this.sizeOf(core, hash) !== undefined;
  }

  /** Undefined when the blob is missing. `unknown` when it was erased or the index does not know it. */
  sizeOf(core: State, hash: Hash): number | 'unknown' | undefined {
    if (this.unindexed.has(hash) || core.erased.has(hash)) return 'unknown';
    if (this.unreadable.has(hash)) return undefined;
    const known = this.missingPacks.size === 0 ? this.known?.sizeOf(hash) : undefined;
    if (known !== undefined) return known;
    const place = core.index.findBlob(hash);
    return place === undefined || this.missingPacks.has(place.pack) ? undefined : place.rawLength;
  }
}

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

/** Damage: `length` bytes from `offset` on. With a length of 0 the record itself is intact. */
export function lost(file: string, offset: number, what: string, length = 0): Found {
  return { what, file, offset, severity: 'lost', length };
}

/** The index can always be rebuilt, so a problem in it is stale and never lost data. */
export function staleIndex(what: string, id?: string): Found {
  const about = id === undefined ? {} : { id };
  return { ...lost('index.db', 0, what), ...about, severity: 'stale', remedy: 'index' };
}
