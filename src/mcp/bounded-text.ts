import type { Turn } from '../context/turn.ts';
import type { Store } from '../store/store.ts';

// A model gets text, and the text is bounded: a model has room for so much. Everything that was left out is named, with
// the tool that reads it.

/** Characters of all entries of one answer together. About 10,000 tokens. */
export const ANSWER_CHARS = 40_000;
/** Characters of one entry, unless it is read by itself. */
export const ENTRY_CHARS = 4_000;
/** Characters of an id, a time, a type or a role. */
const FACT_CHARS = 128;
/** Larger payloads are not loaded for a page. */
export const PAYLOAD_BYTES = 65_536;
/** Bytes of one part of a payload or blob. */
export const PART_BYTES = 32_768;
/** A payload that is not text is decoded as a whole, up to this size. */
const DECODED_BYTES = 1_048_576;

export interface Entry {
  readonly id: string;
  readonly at: string;
  readonly type?: string;
  readonly role?: string;
  readonly text: string;
}

/** Cuts the texts so that all entries together fit into an answer. The other fields may be those of a hostile file. */
export function fitEntries(entries: readonly Entry[]): Entry[] {
  const chars = Math.min(ENTRY_CHARS, Math.floor(ANSWER_CHARS / Math.max(1, entries.length)));
  return entries.map(({ text, ...facts }) => {
    const known = Object.entries(facts).map(([key, fact]) => [key, clip(String(fact), FACT_CHARS)]);
    return { ...(Object.fromEntries(known) as typeof facts), text: clip(text, chars) };
  });
}

export function clip(text: string, chars: number): string {
  if (text.length <= chars) return text;
  // A character of two units is not cut in half.
  const end = /[\uD800-\uDBFF]/.test(text.charAt(chars - 1)) ? chars - 1 : chars;
  return `${text.slice(0, end)}… [${text.length - end} more characters]`;
}

export function toEntry(turn: Turn): Entry {
  const { id, createdAt, type, payload } = turn;
  const role = (payload as { role?: unknown } | null | undefined)?.role;
  return {
    id: String(id),
    at: new Date(createdAt).toISOString(),
    type,
    ...(typeof role === 'string' && { role: clip(role, 64) }),
    text: toText(turn),
  };
}

function toText(turn: Turn): string {
  const { payload, size, state, tombstone, reason = '' } = turn;
  if (tombstone) return `[removed: ${clip(reason, 200)}]`;
  if (state === 'open') return `[being written: ${size} bytes so far]`;
  if (payload === undefined) return `[${size} bytes: read_turn reads them in parts]`;
  if (payload instanceof Uint8Array) return `[${size} bytes: read_turn tells what can be read]`;
  return typeof payload === 'string' ? payload : JSON.stringify(turn.toJSON().payload);
}

export interface Part {
  readonly text: string;
  readonly offset: number;
  readonly bytes: number;
  /** Where the next part begins; absent at the end. */
  readonly next?: number;
}

/** Reads a part of the payload of a turn, in bytes of its text. */
export async function readPart(store: Store, turn: Turn, offset: number): Promise<Part> {
  const { encoding, payloadHash, size } = turn;
  if (turn.tombstone || turn.state === 'open' || payloadHash === undefined)
    return { text: toText(turn), offset: 0, bytes: 0 };
  if (encoding === 'json' || encoding === 'text' || encoding === 'bytes')
    return cutPart(await readBytes(store, payloadHash, offset), offset, size);
  if (size > DECODED_BYTES)
    return { text: `[${size} bytes of ${encoding}]`, offset: 0, bytes: size };
  const whole = await store.contexts.turn(turn.id);
  const bytes = Buffer.from(JSON.stringify(whole?.toJSON().payload ?? null));
  return cutPart(bytes.subarray(offset, offset + PART_BYTES), offset, bytes.length);
}

/** Reads at most a part's bytes of a blob, whatever its size. */
export async function readBytes(store: Store, ref: string, offset: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  const range = { start: offset, end: offset + PART_BYTES };
  for await (const piece of store.blobs.stream(ref, range)) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** A character that is cut at the end belongs to the next part. */
export function cutPart(bytes: Uint8Array, offset: number, total: number): Part {
  const isLast = offset + bytes.length >= total;
  const cut = isLast ? bytes : bytes.subarray(0, wholeCharacters(bytes));
  const end = offset + cut.length;
  const text = new TextDecoder().decode(cut);
  return { text, offset, bytes: total, ...(end < total && cut.length > 0 && { next: end }) };
}

/** The number of bytes before a character that is cut off at the end. */
function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const needs = [0xc0, 0xe0, 0xf0].filter((least) => byte >= least).length + 1;
    return needs > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
