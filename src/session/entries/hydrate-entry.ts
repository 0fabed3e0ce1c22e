import { decodeUtf8 } from '../../base/text.ts';
import { isMalformedReference, parseBlobReference } from './blob-reference.ts';
import { rewriteStrings, type Place } from './rewrite-strings.ts';

/** The number of blobs read at the same time while entries are loaded. */
const READS_AT_ONCE = 8;

export interface SessionWarning {
  readonly message: string;
  /** The SHA-256 or the text that the warning is about. */
  readonly about: string;
}

export type ReadBlob = (sha256: string) => Promise<Uint8Array | undefined>;

export interface Hydrated<T> {
  readonly entry: T;
  /** References left in the entry because their blob is missing. Do not send them to a model. */
  readonly unresolved: readonly string[];
}

const MISSING: Readonly<Record<Exclude<Place, 'text'>, string>> = {
  'image-data': 'Blob not found for image reference',
  'image-url': 'Blob not found for persisted image data URL',
};

/** Restores an entry to its form before it was written. A missing blob leaves its reference, and a warning. */
export async function hydrateEntry<T>(
  entry: T,
  read: ReadBlob,
  warn: (warning: SessionWarning) => void,
): Promise<Hydrated<T>> {
  const wanted = findReferences(entry, warn);
  return wanted.length === 0
    ? { entry, unresolved: [] }
    : restoreBlobs(entry, await readAll(wanted, read), warn);
}

/** Returns the SHA-256 of each blob that is needed to restore an entry. */
export function findReferences(entry: unknown, warn: (warning: SessionWarning) => void): string[] {
  const wanted = new Set<string>();
  rewriteStrings(entry, {
    text(text, place) {
      const sha256 = place === 'text' ? undefined : parseBlobReference(text);
      if (sha256 !== undefined) wanted.add(sha256);
      else if (place !== 'text' && isMalformedReference(text)) {
        warn({ message: 'Rejected malformed blob reference', about: text.slice(0, 200) });
      }
      return text;
    },
  });
  return [...wanted];
}

/** Replaces the references with these blobs. */
export function restoreBlobs<T>(
  entry: T,
  found: ReadonlyMap<string, Uint8Array>,
  warn: (warning: SessionWarning) => void,
): Hydrated<T> {
  const unresolved = new Set<string>();
  const whole = rewriteStrings(entry, {
    text(text, place) {
      const sha256 = place === 'text' ? undefined : parseBlobReference(text);
      if (sha256 === undefined || place === 'text') return text;
      const bytes = found.get(sha256);
      if (bytes !== undefined) return restore(bytes, place);
      if (!unresolved.has(text)) warn({ message: MISSING[place], about: sha256 });
      unresolved.add(text);
      return text;
    },
  });
  return { entry: whole as T, unresolved: [...unresolved] };
}

async function readAll(
  wanted: readonly string[],
  read: ReadBlob,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  const queue = wanted.values();
  const worker = async (): Promise<void> => {
    for (const sha256 of queue) {
      const bytes = await read(sha256);
      if (bytes !== undefined) found.set(sha256, bytes);
    }
  };
  await Promise.all(Array.from({ length: READS_AT_ONCE }, worker));
  return found;
}

function restore(bytes: Uint8Array, place: 'image-data' | 'image-url'): string {
  if (place === 'image-url') return decodeUtf8(bytes);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
