import type { Hash } from '../../../base/brand.ts';
import type { Core } from '../core.ts';
import type { Totals } from '../index/shelf.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Tails } from '../commit/tails.ts';
import type { Writer } from '../commit/writer.ts';
import type { Findings } from './findings.ts';
import type { KnownBlobs } from '../packs/known-blobs.ts';

// What every part of a check works with. A check runs beside writers: it looks at what the snapshot
// covers, and whatever looks wrong and could have moved meanwhile is looked at again while no commit
// runs, before it is called a problem.

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

/** Taken in one go, so all parts are of the same moment. */
export function takeSnapshot({ core }: Writer): Snapshot {
  return {
    tails: core.tails,
    totals: core.index.totals,
    openTurns: new Set(core.openTurns.keys()),
  };
}

/** What the packs told about blobs, for those who refer to them. The sets hold what is wrong. */
export class BlobVerdicts {
  /** In the index, but their record there is damaged. */
  readonly unreadable: Set<Hash> = new Set();
  /** In a pack and intact, but the index does not know them. */
  readonly unindexed: Set<Hash> = new Set();
  readonly missingPacks: Set<number> = new Set();
  /** What the index has; undefined until it has been walked. */
  known: KnownBlobs | undefined;

  /** Also true for what was erased: that it is gone is no damage. */
  isThere(core: Core, hash: Hash): boolean {
    return this.sizeOf(core, hash) !== undefined;
  }

  /** Undefined when it is not there; `unknown` for what was erased, or the index does not know. */
  sizeOf(core: Core, hash: Hash): number | 'unknown' | undefined {
    if (this.unindexed.has(hash) || core.erased.has(hash)) return 'unknown';
    if (this.unreadable.has(hash)) return undefined;
    const known = this.missingPacks.size === 0 ? this.known?.sizeOf(hash) : undefined;
    if (known !== undefined) return known;
    const place = core.index.findBlob(hash);
    return place === undefined || this.missingPacks.has(place.pack) ? undefined : place.rawLength;
  }
}
