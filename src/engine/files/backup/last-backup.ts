import { encodeUtf8 } from '../../../base/text.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { replaceFile } from './backup-note.ts';

// `last-backup.json` says when the last backup of this store came to its end: `{"at":<milliseconds since 1970>}`. It is a
// note for people. It is not in backups, and nothing depends on it.

const FILE = 'last-backup.json';
const BYTES_MAX = 256;

/** A backup that was made is not called a failure because the store has no room for a note. */
export async function noteBackup(files: StoreFiles, at: number): Promise<void> {
  await replaceFile(files, FILE, encodeUtf8(`${JSON.stringify({ at })}\n`)).catch(() => undefined);
}

/** Undefined when there is no note, or none that can be read. */
export async function readLastBackup(files: StoreFiles): Promise<{ at: number } | undefined> {
  const bytes = await files.read(FILE, 0, Math.min(await files.size(FILE), BYTES_MAX));
  const [, digits] = /^\{"at":(\d{1,15})\}\n$/.exec(Buffer.from(bytes).toString('latin1')) ?? [];
  return digits === undefined ? undefined : { at: Number(digits) };
}
