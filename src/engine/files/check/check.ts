import type { Hash } from '../../../base/brand.ts';
import type { Core } from '../core.ts';
import type { Totals } from '../index/shelf.ts';
import type { StoreFiles } from '../store-files.ts';
import type { Tails } from '../tails.ts';
import type { Writer } from '../writer.ts';
import type { Findings } from './findings.ts';

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

/** What the packs told about blobs, for those who refer to them. All sets hold what is wrong. */
export class BlobVerdicts {
  /** In the index, but their record there is damaged. */
  readonly unreadable: Set<Hash> = new Set();
  /** In a pack and intact, but the index does not know them. */
  readonly unindexed: Set<Hash> = new Set();
  readonly missingPacks: Set<number> = new Set();

  /** Also true for what was erased: that it is gone is no damage. */
  isThere(core: Core, hash: Hash): boolean {
    if (this.unindexed.has(hash) || core.erased.has(hash)) return true;
    if (this.unreadable.has(hash)) return false;
    const place = core.index.findBlob(hash);
    return place !== undefined && !this.missingPacks.has(place.pack);
  }
}
