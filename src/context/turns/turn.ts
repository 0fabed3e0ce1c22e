import type { ContextId, Hash, TurnId } from '../../base/brand.ts';
import type { EncodingName } from '../../format/turn-record.ts';

/**
 * One knot in the cord: immutable, with a parent. A read shows the patches in force, so `payloadHash`, `size`,
 * `encoding` and `payload` always belong together.
 */
export interface Turn {
  readonly id: TurnId;
  /** The context that the turn was appended to; forks share turns, so others may lead here too. */
  readonly context: ContextId;
  /** 0 for a root. */
  readonly parent: TurnId;
  /** 0 for a root. */
  readonly depth: number;
  readonly type: string;
  readonly version: number;
  /** A number when this version of the library has no name for the encoding. */
  readonly encoding: EncodingName | number;
  /**
   * Undefined while the turn is open, and when it was erased. For any other tombstone, the hash of the hidden payload.
   */
  readonly payloadHash: Hash | undefined;
  /** Bytes of the payload: so far while the turn is open, 0 for a tombstone. */
  readonly size: number;
  /** Unix time in milliseconds. */
  readonly createdAt: number;
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
   * The decoded payload: a value for json and msgpack, a string for text, bytes for the rest. The payload is decoded on
   * first use. Undefined for a tombstone and when the read was made without payloads. If the bytes cannot be decoded,
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
  encoding: EncodingName | number;
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
