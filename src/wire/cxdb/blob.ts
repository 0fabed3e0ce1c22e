import type { Hash } from '../../base/brand.ts';
import { HASH_BYTES } from '../../base/hash.ts';
import { ByteReader } from '../byte-reader.ts';
import { ByteWriter } from '../byte-writer.ts';
import type { Parts } from '../byte-writer.ts';
import { RAW_BYTES_MAX } from '../limits.ts';

// GET_BLOB:  hash, and nothing behind it.      Reply: u32 len, bytes.
// PUT_BLOB:  hash, u32 len, bytes.             Reply: hash, u8 was_new.
// ATTACH_FS: u64 turn, hash of the fs root.    Reply: the same.

export interface PutBlob {
  /** The hash as the client claims it: nobody has checked it yet. */
  readonly hash: Hash;
  readonly bytes: Uint8Array;
}

export interface PutBlobReply {
  readonly hash: Hash;
  readonly wasNew: boolean;
}

export interface AttachFs {
  readonly turn: bigint;
  readonly fsRoot: Hash;
}

export function decodeGetBlob(payload: Uint8Array): Hash {
  const reader = new ByteReader(payload, 'GET_BLOB');
  const hash = reader.hash('hash');
  if (reader.remaining > 0) throw reader.wrong('hash', 'is followed by more bytes');
  return hash;
}

export function encodeGetBlobReply(bytes: Uint8Array): Parts {
  return new ByteWriter().sized32(bytes).parts();
}

export function decodePutBlob(payload: Uint8Array): PutBlob {
  const reader = new ByteReader(payload, 'PUT_BLOB');
  const hash = reader.hash('hash');
  return { hash, bytes: reader.bytes(reader.size32('bytes', RAW_BYTES_MAX), 'bytes') };
}

export function encodePutBlobReply(reply: PutBlobReply): Parts {
  return new ByteWriter(HASH_BYTES + 1)
    .hash(reply.hash)
    .u8(reply.wasNew ? 1 : 0)
    .parts();
}

export function encodeAttachFs(attach: AttachFs): Parts {
  return new ByteWriter(8 + HASH_BYTES).u64(attach.turn).hash(attach.fsRoot).parts();
}

export function decodeAttachFs(payload: Uint8Array): AttachFs {
  const reader = new ByteReader(payload, 'ATTACH_FS');
  return { turn: reader.u64('turn_id'), fsRoot: reader.hash('fs_root_hash') };
}
