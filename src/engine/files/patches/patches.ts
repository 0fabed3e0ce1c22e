import { orNothing } from '../../../base/errors.ts';
import { isCollected } from '../../../format/collected-map.ts';
import { FILE_MAGIC } from '../../../format/file-header.ts';
import {
  decodePatchRecord,
  NO_HASH,
  PATCH_RECORD_BYTES,
  type PatchRecord,
} from '../../../format/patch-record.ts';
import type { Index } from '../index/store-index.ts';
import { type Check, checkLengths, eachRecord } from '../truth/check.ts';
import { type CopyJob, copyFilled } from '../truth/copy.ts';
import { type Found, staleIndex } from '../truth/findings.ts';
import { rebuildRecords, recordsIn } from '../truth/rebuild.ts';
import { cannot, type Truth } from '../truth/truth.ts';
import { PATCHES_FILE, readFsRoots } from './patch-table.ts';

// Patches and file-system roots of turns.                                            docs/format/patches.md
// Invariants
// - Both share one sequence of numbers. Record n is at n times the record size and never changes.
// - The index knows the numbers of each turn. A patch that it misses cannot be found.

export const PATCHES: Truth = {
  name: 'patches',
  folders: [],
  files: [
    {
      name: PATCHES_FILE,
      header: { magic: FILE_MAGIC.patches, recordBytes: PATCH_RECORD_BYTES },
    },
  ],
  owns: () => false,
  lengths: ({ nextPatch }) => [[PATCHES_FILE, nextPatch * PATCH_RECORD_BYTES]],
  advance(tails, write) {
    if (write.kind !== 'bytes') return tails;
    const next = (write.offset + write.data.length) / PATCH_RECORD_BYTES;
    return { ...tails, nextPatch: Math.max(tails.nextPatch, next) };
  },
  replay({ index }, write) {
    if (write.kind !== 'bytes') return;
    for (const record of recordsIn(write.data, PATCH_RECORD_BYTES)) indexPatch(index, record);
  },
  rebuild: (rebuild) =>
    rebuildRecords(rebuild, 'patches', {
      file: PATCHES_FILE,
      bytes: PATCH_RECORD_BYTES,
      next: rebuild.tails.nextPatch,
      take: indexPatch,
    }),
  async check(check) {
    await checkLengths(check, PATCHES.lengths(check.snapshot.tails));
    await checkPatches(check);
  },
  mend: cannot('no other truth knows what a patch said'),
  copy: { ahead: copyPatches, noted: copyPatches },
};

async function copyPatches(job: CopyJob): Promise<void> {
  await copyFilled(job, { name: PATCHES_FILE, bytes: PATCH_RECORD_BYTES, tail: 'nextPatch' });
}

function indexPatch(index: Index, bytes: Uint8Array): boolean {
  const patch = decodePatchRecord(bytes);
  if (patch !== undefined) index.addPatch(Number(patch.turn), patch.seq);
  return patch !== undefined;
}

async function checkPatches(check: Check): Promise<void> {
  const { core, findings, snapshot, blobs } = check;
  const { nextPatch, nextTurn } = snapshot.tails;
  const file = {
    file: PATCHES_FILE,
    recordBytes: PATCH_RECORD_BYTES,
    next: nextPatch,
    what: 'patches',
  };
  await eachRecord(check, file, (bytes, seq) => {
    const patch = decodePatchRecord(bytes);
    if (patch === undefined || patch.seq !== seq) {
      findings.add(problemOfPatch(seq, `the record of patch ${seq} is damaged`, true));
      return undefined;
    }
    findings.counts.patches += 1;
    const turn = Number(patch.turn);
    const isOpen = snapshot.openTurns.has(turn) && !patch.fsRoot;
    // The number was taken in the store that this one was copied from, and its record was gone there.
    if (turn === 0 && patch.fsRoot && patch.payload === NO_HASH) return undefined;
    if (turn < 1 || turn >= nextTurn || isOpen) {
      findings.add(problemOfPatch(seq, `patch ${seq} is on a turn that is not there`, true));
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
  findings.add(problemOfPatch(seq, `the payload of patch ${seq} cannot be read`, false));
}

function problemOfPatch(seq: number, what: string, inRecord: boolean): Found {
  return {
    what,
    file: PATCHES_FILE,
    offset: seq * PATCH_RECORD_BYTES,
    id: String(seq),
    severity: 'lost',
    length: inRecord ? PATCH_RECORD_BYTES : 0,
  };
}
