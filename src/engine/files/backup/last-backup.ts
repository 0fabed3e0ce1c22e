import { encodeUtf8 } from '../../../base/text.ts';
import type { StoreFiles } from '../disk/store-files.ts';

// `last-backup.json` says when the last backup of this store came to its end: `{"at":<milliseconds since 1970>}`. It is a
// note for people. It is not in backups, and nothing depends on it. So nothing is synced: after a power failure, the
// note may be missing, or the one before.

const FILE = 'last-backup.json';
const BYTES_MAX = 256;

/** A backup that was made is not called a failure because the store has no room for a note. The note before stays. */
export async function noteBackup(files: StoreFiles, at: number): Promise<void> {
  const bytes = encodeUtf8(`${JSON.stringify({ at })}\n`);
  await files.replace(FILE, [bytes], { sync: false }).catch(() => undefined);
}

/** Undefined when there is no note, or none that can be read. */
export async function readLastBackup(files: StoreFiles): Promise<{ at: number } | undefined> {
  const bytes = await files.read(FILE, 0, BYTES_MAX).catch(() => new Uint8Array());
  const [, digits] = /^\{"at":(\d{1,15})\}\n$/.exec(Buffer.from(bytes).toString('latin1')) ?? [];
  return digits === undefined ? undefined : { at: Number(digits) };
}
