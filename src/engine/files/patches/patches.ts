import { FILE_MAGIC } from '../../../format/file-header.ts';
import { decodePatchRecord, PATCH_RECORD_BYTES } from '../../../format/patch-record.ts';
import type { Index } from '../index/store-index.ts';
import { checkLengths } from '../truth/check.ts';
import { copyRecords, damagedRecord } from '../truth/copy.ts';
import { rebuildRecords, recordsIn } from '../truth/rebuild.ts';
import { cannot, type Truth } from '../truth/truth.ts';
import { checkPatches } from './check-patches.ts';
import { PATCHES_FILE } from './patch-table.ts';

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
  async copy(job) {
    if (job.phase === 'after') return;
    const [hole] = await copyRecords(job, {
      name: PATCHES_FILE,
      bytes: PATCH_RECORD_BYTES,
      first: job.copied.tails?.nextPatch ?? 0,
      next: job.tails.nextPatch,
    });
    if (hole !== undefined) throw damagedRecord(PATCHES_FILE, PATCH_RECORD_BYTES, hole);
  },
};

function indexPatch(index: Index, bytes: Uint8Array): boolean {
  const patch = decodePatchRecord(bytes);
  if (patch !== undefined) index.addPatch(Number(patch.turn), patch.seq);
  return patch !== undefined;
}
