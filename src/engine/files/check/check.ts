import type { Hash } from '../../../base/brand.ts';
import type { Core } from '../core.ts';
import type { Totals } from '../index/shelf.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Tails } from '../commit/tails.ts';
import type { Writer } from '../commit/writer.ts';
import type { Findings } from './findings.ts';
import type { KnownBlobs } from '../packs/known-blobs.ts';

// The shared state of a check. A check runs beside writers. It checks what the snapshot covers. Anything that looks
// wrong and could have moved meanwhile is checked again between commits, before it is called a problem.

export interface Snapshot {
  readonly tails: Tails;
  readonly totals: Totals;
  readonly openTurns: ReadonlySet<number>;
}

export interface Check {
  readonly writer: Writer;
  readonly core: Core;
  readonly files: StoreFiles;
  readonly findings: Findings;
  readonly snapshot: Snapshot;
  readonly blobs: BlobVerdicts;
}

/** The snapshot is taken without a wait, so all parts are of the same moment. */
export function takeSnapshot({ core }: Writer): Snapshot {
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
  known: KnownBlobs | undefined;

  /** Also true for an erased blob: its absence is no damage. */
  isThere(core: Core, hash: Hash): boolean {
    return this.sizeOf(core, hash) !== undefined;
  }

  /** Undefined when the blob is missing. `unknown` when it was erased or the index does not know it. */
  sizeOf(core: Core, hash: Hash): number | 'unknown' | undefined {
    if (this.unindexed.has(hash) || core.erased.has(hash)) return 'unknown';
    if (this.unreadable.has(hash)) return undefined;
    const known = this.missingPacks.size === 0 ? this.known?.sizeOf(hash) : undefined;
    if (known !== undefined) return known;
    const place = core.index.findBlob(hash);
    return place === undefined || this.missingPacks.has(place.pack) ? undefined : place.rawLength;
  }
}
