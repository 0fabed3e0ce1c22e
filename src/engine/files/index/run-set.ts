import { CHUNK_BYTES_MAX, type RunTables } from './run-tables.ts';
import {
  BLOCK_ENTRIES_MAX,
  type EntryLayout,
  findEntry,
  type IsGone,
  PREFIX_END,
  prefixAt,
  Probe,
  Run,
  type RunState,
  sliceBlock,
  sortBlock,
  withoutGone,
} from './run.ts';
import { ShelfDamaged } from './shelf.ts';

// A set of entries under random keys, in sorted runs that are merged in the background.
//
// Random keys are the worst case of a B-tree: every entry touches another page. Measured on two shared
// cores with SQLite, WAL and batches of 500: an insert cost 16 µs at 100,000 rows and 35 µs at 1,000,000,
// and a flush paused for 20 to 80 ms. It made no difference (65 to 70 bytes a row, 10 % in time) whether
// the row was keyed by the hash, by its first 8 bytes with pack and offset, or by those 8 bytes alone.
// Runs are written page after page. Beside 24 µs for the B-tree at 200,000 rows they took 2.6 µs an entry
// at 100,000 and 2.7 at 500,000, 57 bytes each; a flush of 2,048 took 4 to 5 ms, and 20 to 30 when it
// came with one of SQLite's checkpoints. To find that something is not there took 3 µs without a read.
//
// Invariants
// - A merge moves a frontier `at` up the prefixes. Entries below it are found in the output, entries
//   from it on in the inputs, so every entry is found in exactly one of the two at any time.
// - Runs change only within the transaction that also writes the state; after a rollback the set is
//   loaded again.
// - An entry may be in two runs when it was added twice. It comes out of a merge, or a walk, once.

/** This many runs of about one size become one run of the next size. */
export const FAN_IN = 6;

/** Runs below this size count as one size: merging them again costs almost nothing. */
const SMALLEST_TIER_ENTRIES = 512;

/** A run that would grow past this stays as it is. */
const RUN_ENTRIES_MAX = 32 * 1024 * 1024;

/** The most entries of a chunk, so that its filter stays precise. */
const CHUNK_ENTRIES_MAX = 76;

/**
 * A merge advances by this many entries for each entry added. With 1 the merge would end just when the next one of
 * its size begins. The rest is slack.
 */
const MERGE_PACE = 1.5;
const MERGE_STEP_MIN = 512;
const WALK_STEP_ENTRIES = 4096;

interface MergeState {
  readonly output: number;
  readonly inputs: readonly number[];
  readonly at: number;
}

export interface RunSetState {
  readonly nextRun: number;
  readonly runs: readonly RunState[];
  readonly merges: readonly MergeState[];
}

interface Merge {
  readonly output: Run;
  readonly inputs: readonly Run[];
  readonly total: number;
  at: number;
}

/** Sets that share the tables number their runs in steps of `stride`, each from its own start. */
export interface RunSetOptions {
  readonly layout: EntryLayout;
  readonly stride: number;
  /** Entries that no longer count. Once true of an entry, it stays true. */
  readonly isGone?: IsGone;
}

export class RunSet {
  readonly #tables: RunTables;
  readonly #layout: EntryLayout;
  readonly #stride: number;
  readonly #isGone: IsGone | undefined;
  #nextRun: number;
  #idle: Run[];
  #merges: Merge[];
  /** The number of entries by which the merges are behind the additions. */
  #owed = 0;

  constructor(tables: RunTables, options: RunSetOptions, state: RunSetState) {
    this.#tables = tables;
    this.#layout = options.layout;
    this.#stride = options.stride;
    this.#isGone = options.isGone;
    this.#nextRun = state.nextRun;
    const runs = new Map(state.runs.map((run) => [run.id, tables.load(run)]));
    const take = (id: number): Run => {
      const run = runs.get(id);
      if (run === undefined) throw new ShelfDamaged(`a merge names run ${id}, which is not there`);
      runs.delete(id);
      return run;
    };
    this.#merges = state.merges.map((merge) => {
      const inputs = merge.inputs.map(take);
      return { output: take(merge.output), inputs, total: totalEntries(inputs), at: merge.at };
    });
    this.#idle = [...runs.values()];
  }

  state(): RunSetState {
    return {
      nextRun: this.#nextRun,
      runs: this.#allRuns().map((run) => run.state()),
      merges: this.#merges.map(({ output, inputs, at }) => ({
        output: output.id,
        inputs: inputs.map((run) => run.id),
        at,
      })),
    };
  }

  /** Adds entries in any order. The merges owe their share of the work until `merge` is called. */
  add(block: Buffer): void {
    if (block.length === 0) return;
    const { entryBytes } = this.#layout;
    const most = BLOCK_ENTRIES_MAX * entryBytes;
    for (let at = 0; at < block.length; at += most) {
      const run = this.#newRun();
      this.#append(run, sortBlock(block.subarray(at, at + most), entryBytes));
      this.#idle.push(run);
    }
    this.#startMerges();
    this.#owed += Math.max(MERGE_STEP_MIN, Math.ceil((block.length / entryBytes) * MERGE_PACE));
  }

  /** Advances each merge by the owed work, at most `most` entries. Returns true when there is more to do. */
  merge(most: number): boolean {
    const step = Math.min(this.#owed, most);
    this.#owed -= step;
    if (step > 0) for (const merge of this.#merges) this.#advance(merge, step);
    if (this.#merges.length === 0) this.#owed = 0;
    return this.#owed > 0;
  }

  find(key: Buffer): Buffer | undefined {
    const probe = new Probe(key);
    const found = this.#findInAny(this.#idle, probe);
    if (found !== undefined) return found;
    for (const { output, inputs, at } of this.#merges) {
      const entry =
        probe.prefix < at ? this.#findIn(output, probe) : this.#findInAny(inputs, probe);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  /**
   * All entries from a prefix on, each once, by rising prefix, in slices of the prefixes. Between slices the set may
   * change.
   */
  *walk(start = 0): Generator<Buffer> {
    const { entryBytes } = this.#layout;
    for (let from = start; from < PREFIX_END;) {
      const slices = Math.max(1, totalEntries(this.#allRuns()) / WALK_STEP_ENTRIES);
      const to = Math.min(PREFIX_END, from + Math.ceil(PREFIX_END / slices));
      const slice = this.#gatherAll(from, to);
      for (let at = 0; at < slice.length; at += entryBytes) {
        yield slice.subarray(at, at + entryBytes);
      }
      from = to;
    }
  }

  /** Removes every entry that `isGone` accepts. With a key, only entries of that key are checked. */
  drop(isGone: IsGone, key?: Buffer): void {
    for (const run of this.#allRuns()) {
      const prefix = key === undefined ? PREFIX_END : prefixAt(key, 0);
      let chunk = key === undefined ? run.base : run.firstChunkFor(prefix);
      for (; chunk < run.end && run.fence(chunk) <= prefix; chunk++) {
        this.#dropFrom(run, chunk, isGone);
      }
    }
  }

  #dropFrom(run: Run, chunk: number, isGone: IsGone): void {
    const data = this.#tables.readChunk(run, chunk);
    const kept = withoutGone(data, this.#layout.entryBytes, isGone);
    if (kept.length < data.length) this.#tables.writeChunk(run, chunk, kept);
  }

  #newRun(): Run {
    const run = new Run(this.#nextRun);
    this.#nextRun += this.#stride;
    return run;
  }

  #append(run: Run, sorted: Buffer): void {
    if (sorted.length === 0) return;
    const { entryBytes } = this.#layout;
    const most = Math.min(CHUNK_ENTRIES_MAX, Math.floor(CHUNK_BYTES_MAX / entryBytes)) * entryBytes;
    const first = run.end;
    for (let at = 0; at < sorted.length; at += most) {
      const chunk = sorted.subarray(at, at + most);
      this.#tables.writeChunk(run, run.addChunk(chunk, entryBytes), chunk);
    }
    this.#tables.writeGuide(run, first);
  }

  #startMerges(): void {
    for (const group of planMerges(this.#idle)) {
      const ids = new Set(group.map((run) => run.id));
      const inputs = this.#idle.filter((run) => ids.has(run.id));
      this.#idle = this.#idle.filter((run) => !ids.has(run.id));
      this.#merges.push({ output: this.#newRun(), inputs, total: totalEntries(inputs), at: 0 });
    }
  }

  #advance(merge: Merge, entries: number): void {
    const width = Math.ceil((PREFIX_END * entries) / merge.total);
    const to = Math.min(PREFIX_END, merge.at + width);
    const parts = merge.inputs.flatMap((run) => this.#gather(run, merge.at, to));
    this.#append(merge.output, this.#sorted(parts));
    merge.at = to;

    if (to < PREFIX_END) {
      for (const run of merge.inputs) this.#tables.trim(run, firstChunkNotBelow(run, to));
      return;
    }
    for (const run of merge.inputs) this.#tables.dropRun(run);
    this.#merges = this.#merges.filter((other) => other !== merge);
    if (merge.output.end > 0) this.#idle.push(merge.output);
  }

  #gather(run: Run, from: number, to: number): Buffer[] {
    const parts: Buffer[] = [];
    for (let i = run.firstChunkFor(from); i < run.end && run.fence(i) < to; i++) {
      parts.push(sliceBlock(this.#tables.readChunk(run, i), this.#layout.entryBytes, from, to));
    }
    return parts;
  }

  #gatherAll(from: number, to: number): Buffer {
    const parts = this.#idle.flatMap((run) => this.#gather(run, from, to));
    for (const { output, inputs, at } of this.#merges) {
      parts.push(...this.#gather(output, from, Math.min(to, at)));
      for (const run of inputs) parts.push(...this.#gather(run, Math.max(from, at), to));
    }
    return this.#sorted(parts);
  }

  #sorted(parts: readonly Buffer[]): Buffer {
    const { entryBytes } = this.#layout;
    const sorted = sortBlock(Buffer.concat(parts), entryBytes);
    return this.#isGone === undefined ? sorted : withoutGone(sorted, entryBytes, this.#isGone);
  }

  #findInAny(runs: readonly Run[], probe: Probe): Buffer | undefined {
    for (const run of runs) {
      const entry = this.#findIn(run, probe);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  #findIn(run: Run, probe: Probe): Buffer | undefined {
    let chunk = run.nextCandidate(run.firstChunkFor(probe.prefix), probe);
    while (chunk !== undefined) {
      const data = this.#tables.readChunk(run, chunk, true);
      const entry = findEntry(data, this.#layout, probe.key, this.#isGone);
      if (entry !== undefined) return entry;
      chunk = run.nextCandidate(chunk + 1, probe);
    }
    return undefined;
  }

  #allRuns(): Run[] {
    return [...this.#idle, ...this.#merges.flatMap((merge) => [merge.output, ...merge.inputs])];
  }
}

/** Entries equal to the next chunk's fence can be in the chunk before it, hence "less than". */
function firstChunkNotBelow(run: Run, prefix: number): number {
  let chunk = run.base;
  while (chunk + 1 < run.end && run.fence(chunk + 1) < prefix) chunk++;
  return chunk;
}

interface RunSize {
  readonly id: number;
  readonly entries: number;
}

/** Decides which idle runs are merged. Every group has runs of one tier, the smallest tier first. */
export function planMerges(idle: readonly RunSize[]): RunSize[][] {
  const tiers = new Map<number, RunSize[]>();
  for (const run of idle) {
    const tier = tierOf(run.entries);
    const peers = tiers.get(tier);
    if (peers === undefined) tiers.set(tier, [run]);
    else peers.push(run);
  }
  return [...tiers]
    .filter(([, peers]) => peers.length >= FAN_IN && totalEntries(peers) <= RUN_ENTRIES_MAX)
    .sort(([a], [b]) => a - b)
    .map(([, peers]) => peers);
}

function tierOf(entries: number): number {
  const ratio = Math.max(1, entries / SMALLEST_TIER_ENTRIES);
  return Math.floor(Math.log(ratio) / Math.log(FAN_IN));
}

function totalEntries(runs: readonly RunSize[]): number {
  return runs.reduce((sum, run) => sum + run.entries, 0);
}
