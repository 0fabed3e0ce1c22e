import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { invalid } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import {
  toBlobReference,
  findReferences,
  hydrateEntry,
  restoreBlobs,
  type SessionWarning,
  persistEntry,
} from './pictures.ts';

export interface BlobFile {
  readonly hash: string;
  readonly path: string;
  readonly ref: string;
}

/**
 * Blobs as plain files, `<folder>/<sha256>` each, for programs that want a path. A file appears whole and durable or
 * not at all, and any number of processes may put the same bytes at once.
 */
export class BlobFiles {
  readonly folder: string;
  readonly #warn: (warning: SessionWarning) => void;

  constructor(folder: string, warn: (warning: SessionWarning) => void = () => undefined) {
    this.folder = folder;
    this.#warn = warn;
  }

  async put(bytes: Uint8Array): Promise<BlobFile> {
    return this.putSync(bytes);
  }

  putSync(bytes: Uint8Array): BlobFile {
    if (!(bytes instanceof Uint8Array)) throw invalid('bytes', 'must be a Uint8Array');
    const hash = sha256Hex(bytes);
    const path = join(this.folder, hash);
    // A file of another length is torn. The blob is then written anew.
    const known = fs.statSync(path, { throwIfNoEntry: false });
    if (known?.size === bytes.length) {
      const now = new Date();
      fs.utimesSync(path, now, now);
    } else {
      this.#write(path, bytes);
    }
    return { hash, path, ref: toBlobReference(hash) };
  }

  /** Returns null when the blob is missing. A file whose content does not match its name counts as missing. */
  async get(hash: string): Promise<Uint8Array | null> {
    return this.getSync(hash);
  }

  getSync(hash: string): Uint8Array | null {
    if (!isHash(hash)) return null;
    let bytes: Uint8Array;
    try {
      bytes = fs.readFileSync(join(this.folder, hash));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
    if (sha256Hex(bytes) === hash) return bytes;
    this.#warn({ message: 'Blob content does not match its hash', about: hash });
    return null;
  }

  async has(hash: string): Promise<boolean> {
    return isHash(hash) && fs.existsSync(join(this.folder, hash));
  }

  /** Nobody is still writing drafts of this age. */
  removeDrafts(olderThanMs: number): void {
    if (!fs.existsSync(this.folder)) return;
    const before = Date.now() - olderThanMs;
    for (const name of fs.readdirSync(this.folder)) {
      if (!/^\.[0-9a-f]{16}\.part$/.test(name)) continue;
      const path = join(this.folder, name);
      const stat = fs.statSync(path, { throwIfNoEntry: false });
      if (stat !== undefined && stat.mtimeMs <= before) fs.rmSync(path, { force: true });
    }
  }

  #write(path: string, bytes: Uint8Array): void {
    fs.mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const draft = join(this.folder, `.${randomBytes(8).toString('hex')}.part`);
    try {
      fs.writeFileSync(draft, bytes, { mode: 0o600, flag: 'wx', flush: true });
      fs.renameSync(draft, path);
    } catch (error) {
      fs.rmSync(draft, { force: true });
      throw error;
    }
    const fd = fs.openSync(this.folder, 'r');
    try {
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
  }
}

function isHash(hash: string): boolean {
  return /^[0-9a-f]{64}$/.test(hash) && hash.length === 64;
}

// The conversions of entries on their way to a file and back, for programs that keep their files themselves. The names
// are those that such programs know.

/** The place of the blobs, such as `BlobFiles`. */
export type EntryBlobs = Pick<BlobFiles, 'put' | 'putSync' | 'get' | 'getSync'>;

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
