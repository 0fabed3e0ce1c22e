import type { PatchEdge } from '../../upkeep.ts';
import type { State } from '../truth/state.ts';
import type { Hash } from '../../../base/brand.ts';
import {
  decodePatchRecord,
  PATCH_RECORD_BYTES,
  type PatchRecord,
} from '../../../format/patch-record.ts';
import type { FsRootRow, PatchRow } from '../../rows.ts';
import { corrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';

export const PATCHES_FILE = 'turns/patches.log';

// Patches and file-system roots share one sequence and one file. Callers give the numbers in rising order, and each
// function picks its kind.

/** Reads record number `seq`, which has been handed out: an unreadable record is damage. */
export async function readPatchRecord(files: StoreFiles, seq: number): Promise<PatchRecord> {
  const offset = seq * PATCH_RECORD_BYTES;
  const record = decodePatchRecord(await files.read(PATCHES_FILE, offset, PATCH_RECORD_BYTES));
  if (record !== undefined && record.seq === seq) return record;
  throw corrupt(PATCHES_FILE, offset, `the record of patch ${seq} is damaged`);
}

export async function readPatches(files: StoreFiles, seqs: readonly number[]): Promise<PatchRow[]> {
  const rows: PatchRow[] = [];
  for (const seq of seqs) {
    const { fsRoot, ...row } = await readPatchRecord(files, seq);
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
    const { turn, payload: root, fsRoot } = await readPatchRecord(files, seq);
    if (!fsRoot) continue;
    // The entry is removed first, so that the map keeps the order of the roots that count.
    newest.delete(turn);
    newest.set(turn, { turn, root, seq });
  }
  return [...newest.values()];
}

/** The number of the newest patch, or 0. */
export async function newestPatch(files: StoreFiles, seqs: readonly number[]): Promise<number> {
  for (const seq of seqs.toReversed()) if (!(await readPatchRecord(files, seq)).fsRoot) return seq;
  return 0;
}

/** The root that the turn was appended with, if there was one. */
export async function firstFsRoot(
  files: StoreFiles,
  seqs: readonly number[],
): Promise<Hash | undefined> {
  for (const seq of seqs) {
    const { payload, fsRoot } = await readPatchRecord(files, seq);
    if (fsRoot) return payload;
  }
  return undefined;
}

/** Small enough that a page of edges is decoded in a millisecond or two. */
const EDGE_RECORDS = 1024;

/** Yields patches and file-system roots below `next`, newest first. Skips a root that another one replaced. */
export async function* readPatchEdges(
  { files, tails }: State,
  next: number,
): AsyncGenerator<readonly PatchEdge[]> {
  const rooted = new Uint8Array(Math.ceil(tails.nextTurn / 8));
  for (let end = next; end > 1; end -= EDGE_RECORDS) {
    const first = Math.max(1, end - EDGE_RECORDS);
    const length = (end - first) * PATCH_RECORD_BYTES;
    const bytes = await files.read(PATCHES_FILE, first * PATCH_RECORD_BYTES, length);
    const page: PatchEdge[] = [];
    for (let seq = end - 1; seq >= first; seq -= 1) {
      const edge = patchAt(bytes, seq - first, seq);
      if (!edge.fsRoot || isFirst(rooted, Number(edge.turn))) page.push(edge);
    }
    yield page;
  }
}

/** Sets the bit of a turn. Returns false when it was already set. */
function isFirst(bits: Uint8Array, turn: number): boolean {
  const [at, bit] = [Math.floor(turn / 8), 1 << (turn % 8)];
  const before = bits[at] ?? 0;
  bits[at] = before | bit;
  return (before & bit) === 0;
}

function patchAt(bytes: Uint8Array, at: number, seq: number): PatchEdge {
  const offset = at * PATCH_RECORD_BYTES;
  const patch = decodePatchRecord(bytes.subarray(offset, offset + PATCH_RECORD_BYTES));
  if (patch?.seq === seq) {
    return { turn: patch.turn, payload: patch.payload, fsRoot: patch.fsRoot };
  }
  throw corrupt(PATCHES_FILE, seq * PATCH_RECORD_BYTES, `the record of patch ${seq} is damaged`);
}
