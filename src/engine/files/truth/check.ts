import type { Hash } from '../../../base/brand.ts';
import type { HeadMove } from '../../../format/head-moves.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Totals } from '../index/shelf.ts';
import type { Findings } from './findings.ts';
import type { State, StateWriter, Tails } from './state.ts';

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
    const what = `the file should have ${length} bytes`;
    findings.add({ what, file, offset, severity: 'lost', length: 0 });
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
