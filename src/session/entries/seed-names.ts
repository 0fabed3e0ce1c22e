import type { BlobFile } from '../blob-files.ts';
import { findReferences, hydrateEntry, restoreBlobs } from './hydrate-entry.ts';
import type { SessionWarning } from './hydrate-entry.ts';
import { persistEntry } from './persist-entry.ts';

// The conversions of entries on their way to a file and back, for programs that keep their files themselves. The names
// are those that such programs know.

/** The place of the blobs, such as `BlobFiles`. */
export interface EntryBlobs {
  put(bytes: Uint8Array): Promise<BlobFile>;
  putSync(bytes: Uint8Array): BlobFile;
  get(hash: string): Promise<Uint8Array | null>;
  getSync(hash: string): Uint8Array | null;
}

type Warn = (warning: SessionWarning) => void;

const SILENT: Warn = () => undefined;

/** Stores the pictures of an entry, and returns the form in which it is written. The entry itself stays as it is. */
export async function prepareEntryForPersistence<T>(
  entry: T,
  blobs: Pick<EntryBlobs, 'put'>,
): Promise<T> {
  const persisted = persistEntry(entry);
  for (const { bytes } of persisted.blobs) await blobs.put(bytes);
  return persisted.entry;
}

export function prepareEntryForPersistenceSync<T>(entry: T, blobs: Pick<EntryBlobs, 'putSync'>): T {
  const persisted = persistEntry(entry);
  for (const { bytes } of persisted.blobs) blobs.putSync(bytes);
  return persisted.entry;
}

/**
 * Puts pictures back into entries, in place. Returns the references whose blob is missing: those stay, with a warning.
 */
export async function resolveBlobRefsInEntries(
  entries: readonly object[],
  blobs: Pick<EntryBlobs, 'get'>,
  warn: Warn = SILENT,
): Promise<string[]> {
  const unresolved = new Set<string>();
  const read = async (hash: string): Promise<Uint8Array | undefined> =>
    (await blobs.get(hash)) ?? undefined;
  for (const entry of entries) {
    const whole = await hydrateEntry(entry, read, warn);
    Object.assign(entry, whole.entry);
    for (const ref of whole.unresolved) unresolved.add(ref);
  }
  return [...unresolved];
}

export function resolveBlobRefsInEntriesSync(
  entries: readonly object[],
  blobs: Pick<EntryBlobs, 'getSync'>,
  warn: Warn = SILENT,
): string[] {
  const unresolved = new Set<string>();
  for (const entry of entries) {
    const found = new Map<string, Uint8Array>();
    for (const sha256 of findReferences(entry, warn)) {
      const bytes = blobs.getSync(sha256);
      if (bytes !== null) found.set(sha256, bytes);
    }
    const whole = restoreBlobs(entry, found, warn);
    Object.assign(entry, whole.entry);
    for (const ref of whole.unresolved) unresolved.add(ref);
  }
  return [...unresolved];
}
