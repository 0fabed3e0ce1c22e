import type { Hash, TurnId } from '../../base/brand.ts';
import type { EncodingName } from '../../format/turn-record.ts';

/** An overlay on a sealed turn. Reads take the newest one unless told otherwise. */
export interface Patch {
  /** The number rises with every patch over the whole store; pass it as `as` to read as of this patch. */
  readonly seq: number;
  readonly turn: TurnId;
  readonly tombstone: boolean;
  readonly encoding: EncodingName | number;
  /** The new payload; for a tombstone the reason as text. Zeros when it was erased. */
  readonly payloadHash: Hash;
  readonly size: number;
  /** Unix time in milliseconds. */
  readonly createdAt: number;
  toJSON(): PatchJson;
}

/** Ids as decimal strings. */
export interface PatchJson {
  seq: number;
  turn: string;
  tombstone: boolean;
  encoding: EncodingName | number;
  payloadHash: Hash;
  size: number;
  createdAt: number;
}
