import type { Hash } from '../../../base/brand.ts';
import {
  decodePatchRecord,
  PATCH_RECORD_BYTES,
  type PatchRecord,
} from '../../../format/patch-record.ts';
import type { FsRootRow, PatchRow } from '../../rows.ts';
import { corrupt } from '../disk/io-error.ts';
import { PATCHES_FILE } from '../names.ts';
import type { StoreFiles } from '../disk/store-files.ts';

// Patches and file-system roots share one sequence and one file. Callers give the numbers in rising order, and each
// function picks its kind.

/** Reads record number `seq`, which has been handed out: an unreadable record is damage. */
async function readRecord(files: StoreFiles, seq: number): Promise<PatchRecord> {
  const offset = seq * PATCH_RECORD_BYTES;
  const record = decodePatchRecord(await files.read(PATCHES_FILE, offset, PATCH_RECORD_BYTES));
  if (record !== undefined && record.seq === seq) return record;
  throw corrupt(PATCHES_FILE, offset, `the record of patch ${seq} is damaged`);
}

export async function readPatches(files: StoreFiles, seqs: readonly number[]): Promise<PatchRow[]> {
  const rows: PatchRow[] = [];
  for (const seq of seqs) {
    const { fsRoot, ...row } = await readRecord(files, seq);
    if (!fsRoot) rows.push(row);
  }
  return rows;
}

/** The root of each turn that counts, in the order of their numbers. */
export async function readFsRoots(
  files: StoreFiles,
  seqs: readonly number[],
): Promise<FsRootRow[]> {
  const newest = new Map<bigint, FsRootRow>();
  for (const seq of seqs) {
    const { turn, payload: root, fsRoot } = await readRecord(files, seq);
    if (!fsRoot) continue;
    // The entry is removed first, so that the map keeps the order of the roots that count.
    newest.delete(turn);
    newest.set(turn, { turn, root, seq });
  }
  return [...newest.values()];
}

/** The number of the newest patch, or 0. */
export async function newestPatch(files: StoreFiles, seqs: readonly number[]): Promise<number> {
  for (const seq of seqs.toReversed()) if (!(await readRecord(files, seq)).fsRoot) return seq;
  return 0;
}

/** The root that the turn was appended with, if there was one. */
export async function firstFsRoot(
  files: StoreFiles,
  seqs: readonly number[],
): Promise<Hash | undefined> {
  for (const seq of seqs) {
    const { payload, fsRoot } = await readRecord(files, seq);
    if (fsRoot) return payload;
  }
  return undefined;
}
