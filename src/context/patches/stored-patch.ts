import type { Hash, TurnId } from '../../base/brand.ts';
import type { PatchRow } from '../../engine/rows.ts';
import { encodingName } from '../../format/turn-record.ts';
import type { EncodingName } from '../../format/turn-record.ts';
import type { Patch, PatchJson } from './patch.ts';

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
