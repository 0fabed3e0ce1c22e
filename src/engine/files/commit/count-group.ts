import { BLOB_OVERHEAD_BYTES } from '../../../format/blob-record.ts';
import type { Draft } from '../../plan/draft.ts';
import type { Totals } from '../index/shelf.ts';
import type { BlobPlaced } from '../packs/encode-packs.ts';

/** The amounts that a group adds to the totals of the store. */
export function countGroup(draft: Draft, blobs: readonly BlobPlaced[]): Totals {
  const added = { turns: 0, logicalBytes: 0, blobs: blobs.length, blobBytes: 0, storedBytes: 0 };
  for (const [, { row }] of draft.turns.entries()) {
    added.turns += 1;
    added.logicalBytes += row.size;
  }
  for (const { rawLength, storedLength } of blobs) {
    added.blobBytes += rawLength;
    added.storedBytes += BLOB_OVERHEAD_BYTES + storedLength;
  }
  return added;
}
