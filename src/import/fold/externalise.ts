import { parseBoundedJson } from '../../base/bounded-json.ts';
import { sha256Hex } from '../../base/hash.ts';
import { at, pathOf, reach } from '../source/fields.ts';
import type { TakenPart, TakenTurn } from '../source/source.ts';

// Pictures and long outputs become blobs, so that each is stored once and a page of turns stays light. The value in
// the record becomes `blob:sha256:<hash>`. The payload lists the places where this was done and what stood there, so
// a text that only looks like a reference is never taken for one.

/** Base64 of this length or more is a file and not a word. */
const BASE64_CHARS_MIN = 1024;
/** A longer text is an output that nobody reads as a whole. */
const TEXT_BYTES_MAX = 51_200;
/** Deeper values stay as they are. */
const DEPTH_MAX = 64;

/** Longer than the longest record. A turn may name one blob any number of times. */
const INTERNAL_BYTES_MAX = 128 * 1024 * 1024;

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const DATA_URL = /^data:([^,]{0,200});base64,/;

/** The content of a blob: the bytes of a base64 text, a text, the JSON of a value, or the bytes of a data URL. */
export type BlobForm = 'base64' | 'text' | 'json' | `data:${string}`;

export interface BlobBytes {
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

interface Externalised {
  readonly raw: string;
  /** The places in the record, by JSON pointer, in the order in which they were replaced. */
  readonly places: readonly (readonly [string, BlobForm])[];
  readonly blobs: readonly BlobBytes[];
}

/** A record and the rules for it. */
interface ExternaliseInput {
  readonly raw: string;
  readonly value: unknown;
  /** True if long texts stay, because a person wrote them. */
  readonly keepsText: boolean;
  /** JSON pointers to values that go whatever they are. */
  readonly heavy: readonly string[];
}

/** Changes `value` in place if it has anything to replace. */
function externalise({ raw, value, keepsText, heavy }: ExternaliseInput): Externalised {
  const isLight = raw.length < BASE64_CHARS_MIN && !raw.includes('"data:');
  if (isLight && heavy.length === 0) return { raw, places: [], blobs: [] };
  const places: [string, BlobForm][] = [];
  const blobs: BlobBytes[] = [];
  const put = (pointer: string, bytes: Uint8Array, form: BlobForm): string => {
    const sha256 = sha256Hex(bytes);
    places.push([pointer, form]);
    blobs.push({ sha256, bytes });
    return `blob:sha256:${sha256}`;
  };
  const visit = (found: unknown, pointer: string, depth: number): unknown => {
    if (typeof found === 'string') return toReference(found, pointer, keepsText, put);
    if (typeof found !== 'object' || found === null || depth > DEPTH_MAX) return found;
    const fields = found as Record<string, unknown>;
    for (const name of Object.keys(fields)) {
      const inner = fields[name];
      if (typeof inner !== 'object' && !(typeof inner === 'string' && isLong(inner))) continue;
      const next = visit(inner, `${pointer}/${escapePointer(name)}`, depth + 1);
      if (next !== inner) fields[name] = next;
    }
    return found;
  };
  visit(value, '', 0);
  for (const pointer of heavy) replaceHeavy(value, pointer, put);
  return { raw: places.length === 0 ? raw : JSON.stringify(value), places, blobs };
}

type Put = (pointer: string, bytes: Uint8Array, form: BlobForm) => string;

function isLong(text: string): boolean {
  return text.length >= BASE64_CHARS_MIN || text.startsWith('data:');
}

function toReference(text: string, pointer: string, keepsText: boolean, put: Put): string {
  const [url, mime] = DATA_URL.exec(text) ?? [];
  if (url !== undefined) {
    const bytes = exactBytes(text.slice(url.length));
    if (bytes !== undefined) return put(pointer, bytes, `data:${mime ?? ''}`);
  }
  if (text.length < BASE64_CHARS_MIN) return text;
  if (text.length % 4 === 0 && BASE64.test(text)) {
    const bytes = exactBytes(text);
    if (bytes !== undefined) return put(pointer, bytes, 'base64');
  }
  if (keepsText || text.length * 3 <= TEXT_BYTES_MAX) return text;
  const bytes = Buffer.from(text);
  // A lone surrogate would come back as another character.
  if (bytes.length <= TEXT_BYTES_MAX || /\p{Surrogate}/u.test(text)) return text;
  return put(pointer, bytes, 'text');
}

/** The bytes of base64 that gives the same text again. */
function exactBytes(base64: string): Uint8Array | undefined {
  const bytes = Buffer.from(base64, 'base64');
  return bytes.length > 0 && bytes.toString('base64') === base64 ? bytes : undefined;
}

function replaceHeavy(value: unknown, pointer: string, put: Put): void {
  const path = pathOf(pointer);
  const name = path.pop() ?? '';
  const holder = at(value, ...path) as Record<string, unknown> | undefined;
  const found = holder?.[name];
  if (holder === undefined || typeof found !== 'object' || found === null) return;
  holder[name] = put(pointer, Buffer.from(JSON.stringify(found)), 'json');
}

function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Puts the values back that were replaced. `bytesOf` gives a blob by its SHA-256; a missing one stays a reference. */
export async function internalise(
  value: unknown,
  places: readonly (readonly [string, BlobForm])[],
  bytesOf: (sha256: string) => Promise<Uint8Array | undefined>,
): Promise<void> {
  let left = INTERNAL_BYTES_MAX;
  // The last replacement contains the earlier ones.
  for (const [pointer, form] of places.toReversed()) {
    const path = pathOf(pointer);
    const name = path.pop() ?? '';
    const found = reach(value, path);
    const holder = typeof found === 'object' ? (found as Record<string, unknown> | null) : null;
    const reference = holder?.[name];
    const [, sha256] = /^blob:sha256:([0-9a-f]{64})$/.exec(String(reference)) ?? [];
    const bytes = sha256 === undefined ? undefined : await bytesOf(sha256);
    left -= bytes?.length ?? 0;
    if (holder === null || bytes === undefined || left < 0) continue;
    holder[name] = toValue(bytes, form) ?? reference;
  }
}

/** Undefined for a blob that is not what its form says. */
function toValue(bytes: Uint8Array, form: BlobForm): unknown {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (form === 'text') return buffer.toString('utf8');
  if (form === 'json') return parseJson(buffer.toString('utf8'));
  const base64 = buffer.toString('base64');
  return form === 'base64' ? base64 : `${form};base64,${base64}`;
}

function parseJson(text: string): unknown {
  try {
    return parseBoundedJson(text);
  } catch {
    // Whoever can append can name any blob as JSON.
    return undefined;
  }
}

// The payload of an imported turn: docs/format/import.md. The records stand in it as they were found, byte for byte,
// so that each can be printed again. Only where a value became a blob is the record written anew.

/** A turn that is not stored yet. */
export interface PlannedTurn {
  readonly type: string;
  readonly payload: Uint8Array;
  readonly blobs: readonly BlobBytes[];
}

/** A text beside the session that a record has only the beginning of. */
export interface Attached {
  /** The place of the beginning; absent for a blob that the record refers to itself. */
  readonly pointer?: string;
  readonly blob: BlobBytes;
}

/** `parts` are the records that are new: those that an earlier import has not seen. */
export function planTurn(
  source: string,
  turn: TakenTurn,
  parts: readonly TakenPart[],
  attached: readonly Attached[],
): PlannedTurn {
  const { head, heavy = [] } = turn;
  const places: [string, BlobForm][] = [];
  const blobs: BlobBytes[] = attached.map(({ blob }) => blob);
  const keepsText = head.role === 'user';
  const raws = parts.map(({ raw, value }, index) => {
    const made = externalise({ raw, value, keepsText, heavy });
    for (const [pointer, form] of made.places) places.push([`/records/${index}${pointer}`, form]);
    blobs.push(...made.blobs);
    return made.raw;
  });
  const texts = attached.filter(({ pointer }) => pointer !== undefined);
  const before = {
    ...head,
    ...(places.length > 0 && { blobs: places }),
    ...(texts.length > 0 && {
      attached: texts.map(({ pointer = '', blob }) => [
        `/records/0${pointer}`,
        `blob:sha256:${blob.sha256}`,
      ]),
    }),
  };
  const fields = JSON.stringify(before).slice(1, -1);
  const text = `{${fields}${fields === '' ? '' : ','}"records":[${raws.join(',')}]}`;
  return { type: `import.${source}.${turn.what}`, payload: Buffer.from(text), blobs };
}
