import type { ContextId, Hash, TurnId } from '../base/brand.ts';
import type { PatchRow, TurnRow } from '../engine/rows.ts';
import { NO_HASH } from '../format/patch-record.ts';
import { Encoding, TurnFlag } from '../format/turn-record.ts';
import { type PayloadEncoding, decodePayload, encodingOf } from './payloads/codecs.ts';

/**
 * One knot in the cord: immutable, with a parent. A read shows the patches in force, so `payloadHash`, `size`,
 * `encoding` and `payload` always belong together.
 */
export interface Turn extends Omit<TurnRow, 'encoding' | 'payload' | 'size' | 'flags'> {
  /** A number when this process has no name for the encoding. */
  readonly encoding: PayloadEncoding;
  /**
   * Undefined while the turn is open, and when it was erased. For any other tombstone, the hash of the hidden payload.
   */
  readonly payloadHash: Hash | undefined;
  /** Bytes of the payload: so far while the turn is open, 0 for a tombstone. */
  readonly size: number;
  /** Bits: 1 open, 2 aborted, 4 interrupted, 8 patched, 16 tombstone, 32 has a file-system root. */
  readonly flags: number;
  readonly state: 'sealed' | 'open';
  /** Set when the writer did not complete the turn; the text up to there is kept. */
  readonly outcome?: 'aborted' | 'interrupted';
  readonly patched: boolean;
  readonly tombstone: boolean;
  /** The reason why the turn was aborted or tombstoned, when one was given and payloads were asked for. */
  readonly reason?: string;
  /**
   * The decoded payload: a value for json, msgpack and cbor, a string for text, bytes for the rest, and what its codec
   * gives for an encoding with a registered one. The keys of objects are sorted. The payload is decoded on first use. Undefined for a tombstone and when the read was made without payloads. If the bytes cannot be decoded,
   * this gives the bytes, and `undecodable` is true.
   */
  readonly payload: unknown;
  /**
   * True when the payload is not in the encoding it was stored under, or when its value has more than 1,000
   * levels or a million values. `payload` gives the bytes then.
   */
  readonly undecodable: boolean;
  /** The payload's bytes, the same array each time and nobody else's. Undefined when `payload` is. */
  readonly bytes: Uint8Array | undefined;
  toJSON(): TurnJson;
}

/** Ids as decimal strings. Bytes appear as `{ "base64": "…" }`. */
export interface TurnJson {
  id: string;
  context: string;
  parent: string;
  depth: number;
  type: string;
  version: number;
  encoding: PayloadEncoding;
  payloadHash?: Hash;
  size: number;
  createdAt: number;
  flags: number;
  state: 'sealed' | 'open';
  outcome?: 'aborted' | 'interrupted';
  patched?: true;
  tombstone?: true;
  reason?: string;
  payload?: unknown;
  undecodable?: true;
}

/** A turn as a read shows it. */
export interface TurnView {
  readonly row: TurnRow;
  readonly encoding: number;
  /**
   * Undefined while the turn is open, and when it was erased. For any other tombstone, the hash of the hidden payload.
   */
  readonly payload: Hash | undefined;
  readonly size: number;
  /** The patch in force. */
  readonly patch: PatchRow | undefined;
}

/** The patches that a read shows: the newest, none, or those up to a sequence number. */
export type PatchesInForce = 'latest' | 'original' | number;

/** Returns the views of `rows`, given all patches on them by rising sequence number. */
export function applyPatches(
  rows: readonly TurnRow[],
  patches: readonly PatchRow[],
  as: PatchesInForce,
): TurnView[] {
  const inForce = new Map<TurnId, PatchRow>();
  for (const patch of patches) {
    if (as === 'latest' || (as !== 'original' && patch.seq <= as)) inForce.set(patch.turn, patch);
  }
  return rows.map((row) => viewTurn(row, inForce.get(row.id)));
}

/** The newest patch alone decides: a payload laid over a tombstone shows. */
export function viewTurn(row: TurnRow, patch: PatchRow | undefined): TurnView {
  const { encoding, size } = row;
  const payload = shown(row.payload);
  if (patch === undefined) return { row, encoding, payload, size, patch };
  if (patch.tombstone) return { row, encoding, payload, size: 0, patch };
  return { row, encoding: patch.encoding, payload: shown(patch.payload), size: patch.size, patch };
}

/** An engine gives no hash of erased bytes. */
function shown(payload: Hash | undefined): Hash | undefined {
  return payload === NO_HASH ? undefined : payload;
}

/** Returns the view of a turn whose bytes are gone, as the tombstone says. */
export function viewErased(row: TurnRow, tombstone: PatchRow | undefined): TurnView {
  return { ...viewTurn(row, tombstone), payload: undefined };
}

/** The low half of the flags is for readers, the high half is the engine's bookkeeping. */
const READER_FLAGS = 0xffff;

/** The content that was read along with the record. */
interface TurnContent {
  /** The payload, by its place in a page. */
  readonly payload?: { readonly page: PageBytes; readonly index: number } | undefined;
  readonly reason?: string | undefined;
}

/** The result of decoding: the bytes when it failed. */
interface Decoded {
  readonly value: unknown;
  readonly failed: boolean;
}

/** A turn that copies or decodes its payload when asked, and once. */
export class LazyTurn implements Turn {
  readonly id: TurnId;
  readonly context: ContextId;
  readonly parent: TurnId;
  readonly depth: number;
  readonly type: string;
  readonly version: number;
  readonly encoding: PayloadEncoding;
  readonly payloadHash: Hash | undefined;
  readonly size: number;
  readonly createdAt: number;
  readonly flags: number;
  readonly state: 'sealed' | 'open';
  readonly outcome?: 'aborted' | 'interrupted';
  readonly patched: boolean;
  readonly tombstone: boolean;
  readonly reason?: string;
  readonly #encoding: number;
  readonly #payload: TurnContent['payload'];
  #bytes: Uint8Array | undefined;
  #decoded: Decoded | undefined;

  constructor(view: TurnView, content: TurnContent) {
    const { row, patch } = view;
    this.id = row.id;
    this.context = row.context;
    this.parent = row.parent;
    this.depth = row.depth;
    this.type = row.type;
    this.version = row.version;
    this.encoding = encodingOf(view.encoding);
    this.payloadHash = view.payload;
    this.size = view.size;
    this.createdAt = row.createdAt;
    this.patched = patch !== undefined;
    this.tombstone = patch?.tombstone ?? false;
    this.flags =
      (row.flags & READER_FLAGS) |
      (this.patched ? TurnFlag.PATCHED : 0) |
      (this.tombstone ? TurnFlag.TOMBSTONE : 0);
    this.state = (row.flags & TurnFlag.OPEN) === 0 ? 'sealed' : 'open';
    if ((row.flags & TurnFlag.ABORTED) !== 0) this.outcome = 'aborted';
    else if ((row.flags & TurnFlag.INTERRUPTED) !== 0) this.outcome = 'interrupted';
    if (content.reason !== undefined) this.reason = content.reason;
    this.#encoding = view.encoding;
    this.#payload = content.payload;
  }

  get bytes(): Uint8Array | undefined {
    this.#bytes ??= this.#payload?.page.own(this.#payload.index);
    return this.#bytes;
  }

  get payload(): unknown {
    this.#decoded ??= this.#decode();
    return this.#decoded.value;
  }

  get undecodable(): boolean {
    this.#decoded ??= this.#decode();
    return this.#decoded.failed;
  }

  #decode(): Decoded {
    const bytes = this.#decodable();
    if (bytes === undefined) return { value: undefined, failed: false };
    try {
      return { value: decodePayload(bytes, this.#encoding), failed: false };
    } catch {
      // A hostile user may have stored the payload: its declared encoding must not end a reader.
      return { value: this.bytes, failed: true };
    }
  }

  /**
   * A value decoded from JSON or text is new; any other value may keep parts of its bytes. Once the reader has the
   * bytes, and may have changed them, those bytes are decoded from then on, wherever the page came from.
   */
  #decodable(): Uint8Array | undefined {
    const isText = this.#encoding === Encoding.json || this.#encoding === Encoding.text;
    return isText && this.#bytes === undefined
      ? this.#payload?.page.view(this.#payload.index)
      : this.bytes;
  }

  toJSON(): TurnJson {
    const { payloadHash, outcome, patched, tombstone, reason } = this;
    // The value is not kept: a stream holds turns that it has sent, and a value may take far more room than its bytes.
    const { value, failed } = this.#decoded ?? this.#decode();
    return {
      id: String(this.id),
      context: String(this.context),
      parent: String(this.parent),
      depth: this.depth,
      type: this.type,
      version: this.version,
      encoding: this.encoding,
      ...(payloadHash !== undefined && { payloadHash }),
      size: this.size,
      createdAt: this.createdAt,
      flags: this.flags,
      state: this.state,
      ...(outcome !== undefined && { outcome }),
      ...(patched && { patched }),
      ...(tombstone && { tombstone }),
      ...(reason !== undefined && { reason }),
      ...(this.#payload !== undefined && { payload: toJsonValue(value) }),
      ...(failed && { undecodable: true }),
    };
  }
}

/** The number of payload bytes copied at once: enough to save most of the allocations, little enough to waste none. */
const GROUP_BYTES = 256 * 1024;

/** A page that is handed out as it is stays in memory as long as any of its payloads. */
const HANDED_OUT_BYTES_MAX = 1024 * 1024;

/**
 * The payloads of one page, shared with the engine until a caller asks for bytes of its own. Copies are made for
 * neighbours together, in one buffer: 64 payloads of 10 KB cost 3 allocations instead of 64, which take longer than the
 * copying itself.
 */
export class PageBytes {
  readonly #shared: readonly Uint8Array[];
  readonly #handsOut: boolean;
  /** Copies that nobody has asked for yet, by their place in the page. */
  readonly #ready: (Uint8Array | undefined)[] = [];
  /** The payloads whose bytes a caller has, by their place in the page. */
  readonly #given: true[] = [];

  /**
   * `unshared`: nobody else has these bytes, such as those of a page that came over a connection. They are handed out
   * without a copy, which took a third of the time of a page of 64 payloads of 10 KB.
   */
  constructor(
    payloads: readonly Uint8Array[],
    { unshared = false }: { readonly unshared?: boolean } = {},
  ) {
    this.#shared = payloads;
    this.#handsOut = unshared && totalOf(payloads) <= HANDED_OUT_BYTES_MAX;
  }

  /** Returns the bytes for reading only. */
  view(index: number): Uint8Array | undefined {
    return this.#shared[index];
  }

  /** Returns the bytes as the caller's own. Ask once for each payload. */
  own(index: number): Uint8Array | undefined {
    if (this.#handsOut) return this.#shared[index];
    if (this.#given[index]) return new Uint8Array(this.#shared[index] ?? []);
    if (this.#ready[index] === undefined) this.#copyFrom(index);
    const own = this.#ready[index];
    this.#ready[index] = undefined;
    this.#given[index] = true;
    return own;
  }

  #copyFrom(first: number): void {
    let end = first;
    let bytes = 0;
    while (end < this.#shared.length && !this.#given[end]) {
      const length = this.#shared[end]?.length ?? 0;
      if (end > first && bytes + length > GROUP_BYTES) break;
      bytes += length;
      end += 1;
    }
    // The memory is not zeroed: every byte is written below.
    const { buffer } = Buffer.allocUnsafeSlow(bytes);
    let at = 0;
    for (let index = first; index < end; index += 1) {
      const shared = this.#shared[index] ?? new Uint8Array();
      const own = new Uint8Array(buffer, at, shared.length);
      own.set(shared);
      this.#ready[index] = own;
      at += shared.length;
    }
  }
}

function totalOf(payloads: readonly Uint8Array[]): number {
  return payloads.reduce((sum, { length }) => sum + length, 0);
}

/** Returns `value` in a form that JSON can carry: bytes as base64, integers over 2^53 as decimal strings. */
export function toJsonValue(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Uint8Array) {
    const { buffer, byteOffset, length } = value;
    return { base64: Buffer.from(buffer, byteOffset, length).toString('base64') };
  }
  if (Array.isArray(value)) return value.map(toJsonValue);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toJsonValue(item)]));
}
