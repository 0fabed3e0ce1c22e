import { BitSet } from '../../../base/bit-set.ts';
import type { Hash } from '../../../base/brand.ts';
import { orNothing } from '../../../base/errors.ts';
import { isCollected } from '../../../format/turn-record.ts';
import { FILE_MAGIC } from '../../../format/file-header.ts';
import {
  decodePatchRecord,
  NO_HASH,
  PATCH_RECORD_BYTES,
  type PatchRecord,
} from '../../../format/patch-record.ts';
import type { FsRootRow, PatchRow } from '../../rows.ts';
import type { PatchEdge } from '../../upkeep.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Index } from '../index/store-index.ts';
import { type Check, checkLengths, staleIndex } from '../truth/check.ts';
import { RecordFile } from '../truth/record-file.ts';
import type { State } from '../truth/state.ts';
import { cannot, type Truth } from '../truth/truth.ts';

// Patches and file-system roots of turns.                                            docs/format/patches.md
// Invariants
// - Both share one sequence of numbers. Record n is at n times the record size and never changes.
// - The index knows the numbers of each turn. A patch that it misses cannot be found.

export const PATCH_RECORDS: RecordFile<PatchRecord> = new RecordFile({
  name: 'turns/patches.log',
  magic: FILE_MAGIC.patches,
  bytes: PATCH_RECORD_BYTES,
  tail: 'nextPatch',
  what: 'the record of patch',
  decode: decodePatchRecord,
  has: ({ seq }, number) => seq === number,
});

export const PATCHES: Truth = {
  name: 'patches',
  folders: [],
  files: [PATCH_RECORDS.own],
  owns: () => false,
  lengths: (tails) => [PATCH_RECORDS.lengthBy(tails)],
  advance: (tails, write) => PATCH_RECORDS.advance(tails, write),
  replay({ index }, write) {
    for (const patch of PATCH_RECORDS.inWrite(write)) indexPatch(index, patch);
  },
  rebuild: (rebuild) =>
    PATCH_RECORDS.rebuild(rebuild, 'patches', (patch) => {
      if (patch !== undefined) indexPatch(rebuild.index, patch);
      return patch !== undefined;
    }),
  async check(check) {
    await checkLengths(check, PATCHES.lengths(check.snapshot.tails));
    await checkPatches(check);
  },
  mend: cannot('no other truth knows what a patch said'),
  copy: { when: 'after', run: (job) => PATCH_RECORDS.copy(job) },
};

function indexPatch(index: Index, { turn, seq }: PatchRecord): void {
  index.addPatch(Number(turn), seq);
}

async function checkPatches(check: Check): Promise<void> {
  const { core, findings, snapshot, blobs } = check;
  await PATCH_RECORDS.check(check, 'patches', (bytes, seq) => {
    const patch = PATCH_RECORDS.decode(bytes, seq);
    if (patch === undefined) {
      findings.add(PATCH_RECORDS.problem(seq, `the record of patch ${seq} is damaged`));
      return undefined;
    }
    findings.counts.patches += 1;
    const turn = Number(patch.turn);
    const isOpen = snapshot.openTurns.has(turn) && !patch.fsRoot;
    // The number was taken in the store that this one was copied from, and its record was gone there.
    if (turn === 0 && patch.fsRoot && patch.payload === NO_HASH) return undefined;
    if (turn < 1 || turn >= snapshot.tails.nextTurn || isOpen) {
      findings.add(PATCH_RECORDS.problem(seq, `patch ${seq} is on a turn that is not there`));
    }
    if (!core.index.patchesOf([turn]).includes(seq)) {
      findings.add(staleIndex(`the index does not know patch ${seq}`, String(seq)));
    }
    const gone = isCollected(core.collected, turn);
    return gone || blobs.isThere(core, patch.payload) ? undefined : checkMissing(check, patch);
  });
}

/** The tree of a file-system root may be gone once the turn was given another root. */
async function checkMissing({ core, files, findings }: Check, patch: PatchRecord): Promise<void> {
  const { seq, fsRoot } = patch;
  // Damage in another record is a separate finding.
  const read = () => readFsRoots(files, core.index.patchesOf([Number(patch.turn)]));
  const roots = fsRoot ? await orNothing(read, 'CORRUPT') : undefined;
  if (roots?.some((root) => root.seq > seq) === true) return;
  findings.add(PATCH_RECORDS.problem(seq, `the payload of patch ${seq} cannot be read`, false));
}

// Callers of these reads give the numbers in rising order, and each function picks its kind.

export async function readPatches(files: StoreFiles, seqs: readonly number[]): Promise<PatchRow[]> {
  const rows: PatchRow[] = [];
  for (const seq of seqs) {
    const { fsRoot, ...row } = await PATCH_RECORDS.mustRead(files, seq);
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
    const { turn, payload: root, fsRoot } = await PATCH_RECORDS.mustRead(files, seq);
    if (!fsRoot) continue;
    // The entry is removed first, so that the map keeps the order of the roots that count.
    newest.delete(turn);
    newest.set(turn, { turn, root, seq });
  }
  return [...newest.values()];
}

/** The number of the newest patch, or 0. */
export async function newestPatch(files: StoreFiles, seqs: readonly number[]): Promise<number> {
  for (const seq of seqs.toReversed()) {
    if (!(await PATCH_RECORDS.mustRead(files, seq)).fsRoot) return seq;
  }
  return 0;
}

/** The root that the turn was appended with, if there was one. */
export async function firstFsRoot(
  files: StoreFiles,
  seqs: readonly number[],
): Promise<Hash | undefined> {
  for (const seq of seqs) {
    const { payload, fsRoot } = await PATCH_RECORDS.mustRead(files, seq);
    if (fsRoot) return payload;
  }
  return undefined;
}

/** Yields patches and file-system roots below `next`, newest first. Skips a root that another one replaced. */
export async function* readPatchEdges(
  { files }: State,
  next: number,
): AsyncGenerator<readonly PatchEdge[]> {
  const rooted = new BitSet();
  for await (const page of PATCH_RECORDS.pagesBack(files, next)) {
    yield page.flatMap(({ number, record }): PatchEdge[] => {
      if (record === undefined) throw PATCH_RECORDS.damaged(number);
      const { turn, payload, fsRoot } = record;
      return fsRoot && !rooted.add(Number(turn)) ? [] : [{ turn, payload, fsRoot }];
    });
  }
}
