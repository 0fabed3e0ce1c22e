import { encodeUtf8 } from '../../../base/text.ts';
import type { IoFile } from '../../io.ts';
import { writeFully } from '../disk/file-handles.ts';
import type { StoreFiles } from '../disk/store-files.ts';

// `last-backup.json` says when the last backup of this store came to its end: `{"at":<milliseconds since 1970>}`. It is a
// note for people. It is not in backups, and nothing depends on it. So nothing is synced: after a power failure, the
// note may be missing, or the one before. The file is opened each time, because a handle that stays open would go on
// reading the note that was replaced.

const FILE = 'last-backup.json';
const BYTES_MAX = 256;

/** A backup that was made is not called a failure because the store has no room for a note. */
export async function noteBackup(files: StoreFiles, at: number): Promise<void> {
  const aside = files.pathOf(`${FILE}.new`);
  const bytes = encodeUtf8(`${JSON.stringify({ at })}\n`);
  try {
    await files.io.remove(aside);
    await withFile(files.io.open(aside, 'create'), (file) => writeFully(file, bytes, 0));
    await files.io.rename(aside, files.pathOf(FILE));
  } catch {
    // The note before stays.
  }
}

/** Undefined when there is no note, or none that can be read. */
export async function readLastBackup(files: StoreFiles): Promise<{ at: number } | undefined> {
  const bytes = Buffer.alloc(BYTES_MAX);
  try {
    const opened = files.io.open(files.pathOf(FILE), 'read');
    const length = await withFile(opened, (file) => file.read(bytes, 0));
    const [, digits] = /^\{"at":(\d{1,15})\}\n$/.exec(bytes.toString('latin1', 0, length)) ?? [];
    return digits === undefined ? undefined : { at: Number(digits) };
  } catch {
    return undefined;
  }
}

async function withFile<T>(
  opened: Promise<IoFile>,
  work: (file: IoFile) => Promise<T>,
): Promise<T> {
  const file = await opened;
  try {
    return await work(file);
  } finally {
    await file.close();
  }
}
