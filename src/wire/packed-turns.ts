import { parseBoundedJson } from '../base/bounded-json.ts';
import { decodeUtf8, encodeUtf8 } from '../base/text.ts';
import { ByteParts } from './call-values.ts';

// The turns of a page, from older to newer, in four arrays of bytes. As JSON, 64 records and the tags of their
// payloads took 93 µs to write and 67 µs to read, a sixth of the time of a page of 640 KB; now 36 and 33 µs.
//
// rows:     count × { u64 id, u64 parent, u64 context, f64 depth, f64 type, f64 version, f64 encoding,
//           f64 size, f64 flags, f64 created_at, f64 payload_len }.      `type` is a place in `types`.
// types:    a JSON array of the types there are, as UTF-8.
// hashes:   count × 64 hex digits; blanks for a turn without a payload.
// payloads: one after the other. The lengths -1 and -2 say that there is none to show, or that it is too
//           large for a page and must be asked for.

const ROW_BYTES = 88;
const HASH_DIGITS = 64;
const NO_HASH = ' '.repeat(HASH_DIGITS);
const NOTHING = -1;
const APART = -2;

/** All fields of a turn except the payload's bytes. */
export interface PackedRow {
  readonly id: bigint;
  readonly parent: bigint;
  readonly context: bigint;
  readonly depth: number;
  readonly type: string;
  readonly version: number;
  readonly encoding: number;
  /** Undefined while the turn is open. */
  readonly payload: string | undefined;
  readonly size: number;
  readonly flags: number;
  readonly createdAt: number;
}

/** Undefined when there is no payload to show; null when the payload is too large for a page. */
export type PackedPayload = Uint8Array | null | undefined;

/** `P` is `ByteParts` where the turns are written, and `Uint8Array` where they are read. */
export interface PackedTurns<P = Uint8Array> {
  readonly rows: Uint8Array;
  readonly types: Uint8Array;
  readonly hashes: Uint8Array;
  readonly payloads: P;
}

export class TurnPacker {
  readonly #rows: Uint8Array;
  readonly #view: DataView;
  readonly #types = new Map<string, number>();
  readonly #payloads = new ByteParts();
  #hashes = '';
  #at = 0;

  constructor(count: number) {
    this.#rows = new Uint8Array(count * ROW_BYTES);
    this.#view = new DataView(this.#rows.buffer);
  }

  /** Shares the payload's memory. */
  add(row: PackedRow, payload: PackedPayload): void {
    const view = this.#view;
    const at = this.#at;
    view.setBigUint64(at, row.id, true);
    view.setBigUint64(at + 8, row.parent, true);
    view.setBigUint64(at + 16, row.context, true);
    view.setFloat64(at + 24, row.depth, true);
    view.setFloat64(at + 32, this.#placeOf(row.type), true);
    view.setFloat64(at + 40, row.version, true);
    view.setFloat64(at + 48, row.encoding, true);
    view.setFloat64(at + 56, row.size, true);
    view.setFloat64(at + 64, row.flags, true);
    view.setFloat64(at + 72, row.createdAt, true);
    view.setFloat64(at + 80, lengthOf(payload), true);
    this.#at = at + ROW_BYTES;
    this.#hashes += row.payload ?? NO_HASH;
    if (payload instanceof Uint8Array) this.#payloads.add(payload);
  }

  done(): PackedTurns<ByteParts> {
    const types = encodeUtf8(JSON.stringify([...this.#types.keys()]));
    const hashes = Buffer.from(this.#hashes, 'latin1');
    return { rows: this.#rows, types, hashes, payloads: this.#payloads };
  }

  #placeOf(type: string): number {
    const known = this.#types.get(type);
    if (known !== undefined) return known;
    this.#types.set(type, this.#types.size);
    return this.#types.size - 1;
  }
}

function lengthOf(payload: PackedPayload): number {
  if (payload === undefined) return NOTHING;
  return payload === null ? APART : payload.length;
}

/** Calls `take` for every turn in order. The payloads share their memory with the packed bytes. */
export function unpackTurns(
  packed: PackedTurns,
  take: (row: PackedRow, payload: PackedPayload) => void,
): void {
  const { rows, payloads } = packed;
  const types = parseBoundedJson(decodeUtf8(packed.types)) as string[];
  // All hashes are decoded together and then cut: decoding one by one takes three times as long.
  const hashes = decodeUtf8(packed.hashes);
  const view = new DataView(rows.buffer, rows.byteOffset, rows.length);
  let start = payloads.byteOffset;
  let hashAt = 0;
  for (let at = 0; at < rows.length; at += ROW_BYTES, hashAt += HASH_DIGITS) {
    const hash = hashes.slice(hashAt, hashAt + HASH_DIGITS);
    const length = view.getFloat64(at + 80, true);
    const payload = cut(payloads, start, length);
    if (length > 0) start += length;
    const row = {
      id: view.getBigUint64(at, true),
      parent: view.getBigUint64(at + 8, true),
      context: view.getBigUint64(at + 16, true),
      depth: view.getFloat64(at + 24, true),
      type: types[view.getFloat64(at + 32, true)] ?? '',
      version: view.getFloat64(at + 40, true),
      encoding: view.getFloat64(at + 48, true),
      payload: hash === NO_HASH ? undefined : hash,
      size: view.getFloat64(at + 56, true),
      flags: view.getFloat64(at + 64, true),
      createdAt: view.getFloat64(at + 72, true),
    };
    take(row, payload);
  }
}

function cut(payloads: Uint8Array, start: number, length: number): PackedPayload {
  if (length >= 0) return new Uint8Array(payloads.buffer, start, length);
  return length === APART ? null : undefined;
}

/** The effect of a patch on a turn: the patch itself, and the values that replace the turn's own. */
export interface PackedOverlay {
  /** The place of the turn in the page. */
  readonly index: number;
  readonly patch: unknown;
  readonly encoding: number;
  readonly payload: string | undefined;
  readonly size: number;
}

/** A page of turns as the call `contexts.page` answers it. */
export interface PackedPage<P = Uint8Array> {
  /**
   * The records are packed, because a page has hundreds of them: nobody walks through them to find bigints and bytes.
   */
  readonly turns: PackedTurns<P>;
  readonly overlays: readonly PackedOverlay[];
  /** The reasons why turns are tombstones or were aborted, by their place in the page. */
  readonly reasons: readonly (readonly [index: number, reason: string])[];
  readonly headDepth: number;
  readonly cursor: bigint | undefined;
  readonly nextDepth: number | undefined;
}
