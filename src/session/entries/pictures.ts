import { sha256Hex } from '../../base/hash.ts';
import { invalid } from '../../base/errors.ts';
import { decodeUtf8, encodeUtf8 } from '../../base/text.ts';
import type { IoFile } from '../../engine/io.ts';

// Pictures are blobs, and a written entry has references in their places. Writing and reading back use one walk, so that
// every text that can be put aside can also be restored.

const PREFIX = 'blob:sha256:';

/** Returns the SHA-256 in a reference of exactly this shape; anything else is ordinary text. */
export function parseBlobReference(text: string): string | undefined {
  return /^blob:sha256:([0-9a-f]{64})$/.exec(text.endsWith('\n') ? '' : text)?.[1];
}

export function toBlobReference(sha256: string): string {
  return PREFIX + sha256;
}

const SCAN_BYTES = 1024 * 1024;
/** The longest form of a reference: every character as a JSON escape. */
const REFERENCE_BYTES_MAX = 6 * (PREFIX.length + 64);

/** Returns the SHA-256 of every reference in a text, wherever it stands: keeping too much is harmless. */
export function referencesIn(text: string): string[] {
  const plain = text.includes('\\u00') ? text.replaceAll(/\\u00([2-7][0-9a-f])/gi, unescape) : text;
  return [...plain.matchAll(/blob:sha256:([0-9a-f]{64})/g)].map(([, sha256 = '']) => sha256);
}

function unescape(_: string, code: string): string {
  return String.fromCharCode(Number.parseInt(code, 16));
}

/** Finds references in the bytes from `from` on, also one that begins shortly before. */
export async function scanReferences(
  file: IoFile,
  from = 0,
  to: number = Number.MAX_SAFE_INTEGER,
): Promise<Set<string>> {
  const found = new Set<string>();
  const size = Math.min(to, await file.size());
  for (let at = Math.max(0, from - REFERENCE_BYTES_MAX); at < size; at += SCAN_BYTES) {
    // A piece is a little longer than the step, for a reference that lies across its end.
    const piece = Buffer.allocUnsafe(Math.min(SCAN_BYTES + REFERENCE_BYTES_MAX, size - at));
    const got = await file.read(piece, at);
    for (const sha256 of referencesIn(piece.toString('latin1', 0, got))) found.add(sha256);
  }
  return found;
}

/** The kind of a text inside an entry. Only pictures are put aside. */
type Place = 'image-data' | 'image-url' | 'text';

interface Rewriting {
  readonly text: (text: string, place: Place, key: string) => string;
  /** Returning false drops the property. `isArgument`: inside the arguments of a tool call, which are the user's. */
  readonly keeps?: (key: string, isArgument: boolean) => boolean;
  /** Sees every object in which something was changed. */
  readonly changed?: (object: Record<string, unknown>) => Record<string, unknown>;
}

/** Deeper than this, writing JSON itself runs out of stack. */
const DEPTH_MAX = 1000;

/** Changes nothing in place. A part in which nothing changes is returned as it is. */
function rewriteStrings(value: unknown, rules: Rewriting): unknown {
  return visit(value, { key: '', depth: 0, isArgument: false, place: 'text' }, rules);
}

interface Where {
  readonly key: string;
  readonly depth: number;
  readonly isArgument: boolean;
  readonly place: Place;
}

function visit(value: unknown, where: Where, rules: Rewriting): unknown {
  if (typeof value === 'string') return rules.text(value, where.place, where.key);
  if (typeof value !== 'object' || value === null) return value;
  if (where.depth > DEPTH_MAX) throw invalid('entry', `is nested deeper than ${DEPTH_MAX}`);
  if (!Array.isArray(value)) return visitObject(value as Record<string, unknown>, where, rules);
  // The texts of an array take their kind from the array's name, and are never image data.
  const place = where.place === 'image-url' ? 'image-url' : 'text';
  const inside: Where = { ...where, depth: where.depth + 1, place };
  let changed = false;
  const items = value.map((item: unknown) => {
    const next = visit(item, inside, rules);
    changed ||= next !== item;
    return next;
  });
  return changed ? items : value;
}

function visitObject(
  object: Record<string, unknown>,
  where: Where,
  rules: Rewriting,
): Record<string, unknown> {
  const isImage = isImageBlock(object);
  const pairs: [string, unknown][] = [];
  let differs = false;
  for (const [key, value] of Object.entries(object)) {
    if (rules.keeps?.(key, where.isArgument) === false) {
      differs = true;
      continue;
    }
    const isArgument = where.isArgument || key === 'arguments' || key === 'input';
    const place = placeOf(key, isImage, where.key);
    const next = visit(value, { key, depth: where.depth + 1, isArgument, place }, rules);
    differs ||= next !== value;
    pairs.push([key, next]);
  }
  if (!differs) return object;
  // `fromEntries` keeps a property called __proto__ as an ordinary property.
  const copy = Object.fromEntries(pairs);
  return rules.changed?.(copy) ?? copy;
}

function placeOf(key: string, isImage: boolean, parentKey: string): Place {
  if (isImage && key === 'data') return 'image-data';
  return key === 'image_url' || (parentKey === 'image_url' && key === 'url') ? 'image-url' : 'text';
}

function isImageBlock({ type, mimeType, data }: Record<string, unknown>): boolean {
  if (typeof data !== 'string') return false;
  return type === 'image' || (typeof mimeType === 'string' && mimeType.startsWith('image/'));
}

/** Base64 of an image goes to a blob from this many characters on. */
const BLOB_EXTERNALIZE_THRESHOLD = 1024;
/** The longest text that a written entry keeps, in UTF-16 units. */
export const MAX_PERSIST_CHARS = 500_000;
export const TRUNCATION_NOTICE = '\n\n[Session persistence truncated large content]';

const SIGNATURES = new Set(['thinkingSignature', 'thoughtSignature', 'textSignature']);
const TRANSIENT = new Set(['partialJson', 'jsonlEvents']);

/** Bytes that an entry refers to. */
export interface BlobToPut {
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

interface Persisted<T> {
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
    const sha256 = sha256Hex(bytes);
    blobs.set(sha256, { sha256, bytes });
    return toBlobReference(sha256);
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

/** The number of blobs read at the same time while entries are loaded. */
const READS_AT_ONCE = 8;

export interface SessionWarning {
  readonly message: string;
  /** The SHA-256 or the text that the warning is about. */
  readonly about: string;
}

export type ReadBlob = (sha256: string) => Promise<Uint8Array | undefined>;

interface Hydrated<T> {
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
      if (place === 'text' || !text.startsWith(PREFIX)) return text;
      const sha256 = parseBlobReference(text);
      if (sha256 !== undefined) wanted.add(sha256);
      else warn({ message: 'Rejected malformed blob reference', about: text.slice(0, 200) });
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
