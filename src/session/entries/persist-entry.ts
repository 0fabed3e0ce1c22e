import { encodeUtf8 } from '../../base/text.ts';
import {
  parseBlobReference,
  toBlobReference,
  toBlobToPut,
  type BlobToPut,
} from './blob-reference.ts';
import { rewriteStrings, type Place } from './rewrite-strings.ts';

/** Base64 of an image goes to a blob from this many characters on. */
const BLOB_EXTERNALIZE_THRESHOLD = 1024;
/** The longest text that a written entry keeps, in UTF-16 units. */
export const MAX_PERSIST_CHARS = 500_000;
export const TRUNCATION_NOTICE = '\n\n[Session persistence truncated large content]';

const SIGNATURES = new Set(['thinkingSignature', 'thoughtSignature', 'textSignature']);
const TRANSIENT = new Set(['partialJson', 'jsonlEvents']);

export interface Persisted<T> {
  readonly entry: T;
  /** The blobs that the entry refers to now, one of each. They must be durable before the entry is written. */
  readonly blobs: readonly BlobToPut[];
}

/**
 * Makes the form in which an entry is written: pictures as references, overlong texts cut, and without the fields that
 * are only of use while a reply streams. This function decides and writes nothing; the entry itself stays as it is.
 */
export function persistEntry<T>(entry: T): Persisted<T> {
  const blobs = new Map<string, BlobToPut>();
  const putAside = (bytes: Uint8Array): string => {
    const blob = toBlobToPut(bytes);
    blobs.set(blob.sha256, blob);
    return toBlobReference(blob.sha256);
  };
  const written = rewriteStrings(entry, {
    keeps: (key, isArgument) => isArgument || !TRANSIENT.has(key),
    text: (text, place, key) => persistText(text, { place, key, putAside }),
    changed: recountLines,
  });
  return { entry: written as T, blobs: [...blobs.values()] };
}

interface Texts {
  readonly place: Place;
  readonly key: string;
  readonly putAside: (bytes: Uint8Array) => string;
}

function persistText(text: string, { place, key, putAside }: Texts): string {
  if (place === 'image-data') {
    if (text.length < BLOB_EXTERNALIZE_THRESHOLD || parseBlobReference(text) !== undefined) {
      return text;
    }
    const bytes = Buffer.from(text, 'base64');
    // Line breaks, another alphabet or missing padding would not come back, so such data stays as it is.
    return bytes.toString('base64') === text ? putAside(bytes) : text;
  }
  if (place === 'image-url' && text.startsWith('data:image/') && text.includes(';base64,')) {
    return /\p{Surrogate}/u.test(text) ? text : putAside(encodeUtf8(text));
  }
  if (text.length <= MAX_PERSIST_CHARS) return text;
  return SIGNATURES.has(key) ? '' : cutText(text);
}

function cutText(text: string): string {
  const room = MAX_PERSIST_CHARS - TRUNCATION_NOTICE.length;
  const code = text.charCodeAt(room - 1);
  const splitsPair = code >= 0xd800 && code <= 0xdbff;
  return text.slice(0, splitsPair ? room - 1 : room) + TRUNCATION_NOTICE;
}

function recountLines(object: Record<string, unknown>): Record<string, unknown> {
  const { content, lineCount } = object;
  if (typeof content !== 'string' || typeof lineCount !== 'number') return object;
  return { ...object, lineCount: content.split('\n').length };
}
