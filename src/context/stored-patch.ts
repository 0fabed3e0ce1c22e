import type { Hash, TurnId } from '../base/brand.ts';
import type { Engine } from '../engine/engine.ts';
import type { PatchRow } from '../engine/rows.ts';
import { encodingName } from '../format/encoding.ts';
import type { EncodingName } from '../format/encoding.ts';
import { NO_HASH } from '../format/patch-record.ts';
import type { Patch, PatchJson } from './patch.ts';

/** A patch as readers may see it: the hash of bytes that were erased would let anyone check a guess of them. */
export async function showPatch(engine: Engine, row: PatchRow): Promise<Patch> {
  const shown = (await engine.hasBlob(row.payload)) ? row : { ...row, payload: NO_HASH };
  return new StoredPatch(shown);
}

export class StoredPatch implements Patch {
  readonly seq: number;
  readonly turn: TurnId;
  readonly tombstone: boolean;
  readonly encoding: EncodingName | number;
  readonly payloadHash: Hash;
  readonly size: number;
  readonly createdAt: number;

  constructor(row: PatchRow) {
    this.seq = row.seq;
    this.turn = row.turn;
    this.tombstone = row.tombstone;
    this.encoding = encodingName(row.encoding) ?? row.encoding;
    this.payloadHash = row.payload;
    this.size = row.size;
    this.createdAt = row.createdAt;
  }

  toJSON(): PatchJson {
    return {
      seq: this.seq,
      turn: String(this.turn),
      tombstone: this.tombstone,
      encoding: this.encoding,
      payloadHash: this.payloadHash,
      size: this.size,
      createdAt: this.createdAt,
    };
  }
}
