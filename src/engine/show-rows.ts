import type { Hash } from '../base/brand.ts';
import { NO_HASH } from '../format/patch-record.ts';
import type { FsRootRow, PatchRow, TurnRow } from './rows.ts';

// Rows as readers may see them. The hash of erased bytes would let anyone check a guess of them.

/** All blobs that were ever erased, and the blobs that are there: erased bytes may have been put again. */
interface Blobs {
  readonly erased: { has(hash: Hash): boolean };
  hasBlob(hash: Hash): boolean;
}

export function showTurn(blobs: Blobs, row: TurnRow | undefined): TurnRow | undefined {
  return row && showRow(blobs, row);
}

export function showRows<R extends TurnRow | PatchRow>(blobs: Blobs, rows: readonly R[]): R[] {
  return rows.map((row) => showRow(blobs, row));
}

export function showRoots(blobs: Blobs, rows: readonly FsRootRow[]): FsRootRow[] {
  return rows.map((row) => (isErased(blobs, row.root) ? { ...row, root: NO_HASH } : row));
}

function showRow<R extends TurnRow | PatchRow>(blobs: Blobs, row: R): R {
  const { payload } = row;
  return payload !== undefined && isErased(blobs, payload) ? { ...row, payload: NO_HASH } : row;
}

function isErased(blobs: Blobs, hash: Hash): boolean {
  return blobs.erased.has(hash) && !blobs.hasBlob(hash);
}
