import { decodePatchRecord, PATCH_RECORD_BYTES } from '../../../format/patch-record.ts';
import type { PatchRow } from '../../rows.ts';
import { corrupt } from '../io-error.ts';
import { PATCHES_FILE } from '../names.ts';
import type { StoreFiles } from '../store-files.ts';

/** Patch number `seq`, which has been handed out: an unreadable record is damage. */
export async function readPatch(files: StoreFiles, seq: number): Promise<PatchRow> {
  const offset = seq * PATCH_RECORD_BYTES;
  const record = decodePatchRecord(await files.read(PATCHES_FILE, offset, PATCH_RECORD_BYTES));
  if (record !== undefined && record.seq === seq) return record;
  throw corrupt(PATCHES_FILE, offset, `the record of patch ${seq} is damaged`);
}
