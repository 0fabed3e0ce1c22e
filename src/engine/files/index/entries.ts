import type { Hash, KeyHash } from '../../../base/brand.ts';
import { bytesToHash } from '../../../base/hash.ts';
import type { BlobPlace, PlaceRef } from './shelf.ts';
import type { EntryLayout } from './run.ts';

// The three kinds of entry under random keys, little-endian.
//
// blob    0 hash 32 | 32 pack u32 | 36 offset u48 | 42 raw u32 | 46 stored u32 | 50 codec u16   52 bytes
// key     0 key 16  | 16 turn u48 | 22 zeros 2                                                 24 bytes
// sha256  0 sha256 32 | 32 hash 32                                                             64 bytes

export const BLOB_LAYOUT: EntryLayout = { keyBytes: 32, entryBytes: 52 };
export const KEY_LAYOUT: EntryLayout = { keyBytes: 16, entryBytes: 24 };
export const SHA256_LAYOUT: EntryLayout = { keyBytes: 32, entryBytes: 64 };

export function encodeBlobs(places: readonly BlobPlace[]): Buffer {
  const block = Buffer.allocUnsafe(places.length * BLOB_LAYOUT.entryBytes);
  let at = 0;
  for (const place of places) {
    block.write(place.hash, at, 'hex');
    block.writeUInt32LE(place.pack, at + 32);
    block.writeUIntLE(place.offset, at + 36, 6);
    block.writeUInt32LE(place.rawLength, at + 42);
    block.writeUInt32LE(place.storedLength, at + 46);
    block.writeUInt16LE(place.codec, at + 50);
    at += BLOB_LAYOUT.entryBytes;
  }
  return block;
}

export function decodeBlob(entry: Buffer): BlobPlace {
  return {
    hash: entry.toString('hex', 0, 32) as Hash,
    pack: packAt(entry, 0),
    offset: offsetAt(entry, 0),
    rawLength: entry.readUInt32LE(42),
    storedLength: entry.readUInt32LE(46),
    codec: entry.readUInt16LE(50),
  };
}

/** Whether the blob entry at `at` of `block` holds `place`. */
export function isAt(place: PlaceRef, block: Buffer, at: number): boolean {
  return (
    packAt(block, at) === place.pack &&
    offsetAt(block, at) === place.offset &&
    block.toString('hex', at, at + 32) === place.hash
  );
}

/** The pack that the blob entry at `at` of `block` names. */
export function packAt(block: Buffer, at: number): number {
  return block.readUInt32LE(at + 32);
}

function offsetAt(block: Buffer, at: number): number {
  return block.readUInt32LE(at + 36) + block.readUInt16LE(at + 40) * 2 ** 32;
}

export function encodeKeys(keys: readonly { key: KeyHash; turn: number }[]): Buffer {
  const block = Buffer.alloc(keys.length * KEY_LAYOUT.entryBytes);
  for (const [i, { key, turn }] of keys.entries()) {
    block.write(key, i * KEY_LAYOUT.entryBytes, 'hex');
    block.writeUIntLE(turn, i * KEY_LAYOUT.entryBytes + 16, 6);
  }
  return block;
}

export function decodeKeyTurn(entry: Buffer): number {
  return entry.readUIntLE(16, 6);
}

export function encodeSha256s(pairs: readonly { sha256: string; hash: Hash }[]): Buffer {
  const block = Buffer.allocUnsafe(pairs.length * SHA256_LAYOUT.entryBytes);
  for (const [i, { sha256, hash }] of pairs.entries()) {
    block.write(sha256, i * SHA256_LAYOUT.entryBytes, 'hex');
    block.write(hash, i * SHA256_LAYOUT.entryBytes + 32, 'hex');
  }
  return block;
}

export function decodeSha256Hash(entry: Buffer): Hash {
  return bytesToHash(entry.subarray(32, 64));
}
