import type { Hash } from '../base/brand.ts';
import { compress } from '../base/compress.ts';
import { CRC_BYTES, copyInto, isSealed, seal, toBuffer } from './bytes.ts';

// One blob in a pack.                                                   docs/format/blobs.md
// 0        4          6        8             12               16      48           48+n    52+n
// | magic  | version  | codec  | raw length  | stored length  | hash  | stored …   | crc32 |
// | BLSB   | u16 = 1  | u16    | u32         | u32 = n        | 32    | n bytes    | u32   |
// little-endian; crc32 covers 0..48+n; hash is BLAKE3-256 of the raw bytes
export const BLOB_HEADER_BYTES = 48;
export const BLOB_OVERHEAD_BYTES = 52;

/** The u32 whose four bytes read `BLSB`. */
const MAGIC = 0x42534c42;
const VERSION = 1;

/** The codec says how the stored bytes represent the raw bytes. */
export const BlobCodec = {
  raw: 0,
  zstd: 1,
  /** The bytes are a chunk list, see `chunk-list.ts`. */
  chunks: 2,
  /** The bytes were erased: zeros of the same length stand in their place, and the hash stays. */
  erased: 3,
} as const;

export type BlobCodecNumber = (typeof BlobCodec)[keyof typeof BlobCodec];

export interface BlobHeader {
  readonly codec: BlobCodecNumber;
  readonly rawLength: number;
  readonly storedLength: number;
  readonly hash: Hash;
}

export interface BlobRecord {
  readonly codec: BlobCodecNumber;
  readonly rawLength: number;
  readonly hash: Hash;
  readonly stored: Uint8Array;
}

/** Encodes the record at `at` of `buffer`, or into a new buffer. */
export function encodeBlobRecord(
  record: BlobRecord,
  buffer: Buffer = Buffer.allocUnsafe(BLOB_OVERHEAD_BYTES + record.stored.length),
  at = 0,
): Uint8Array {
  const { stored } = record;
  buffer.writeUInt32LE(MAGIC, at);
  buffer.writeUInt16LE(VERSION, at + 4);
  buffer.writeUInt16LE(record.codec, at + 6);
  buffer.writeUInt32LE(record.rawLength, at + 8);
  buffer.writeUInt32LE(stored.length, at + 12);
  buffer.write(record.hash, at + 16, 32, 'hex');
  // Bytes that another thread compressed lie in shared memory.
  copyInto(buffer, at + BLOB_HEADER_BYTES, stored);
  seal(buffer, at, at + BLOB_OVERHEAD_BYTES + stored.length);
  return buffer;
}

/**
 * Decodes the first 48 bytes of a record. Returns undefined when they do not look like a header. The checksum is at
 * the end of the record, so none of these fields is proven yet.
 */
export function decodeBlobHeader(bytes: Uint8Array): BlobHeader | undefined {
  if (bytes.length < BLOB_HEADER_BYTES) return undefined;
  const buffer = toBuffer(bytes);
  const codec = buffer.readUInt16LE(6);
  if (buffer.readUInt32LE(0) !== MAGIC || buffer.readUInt16LE(4) !== VERSION) return undefined;
  if (!isBlobCodec(codec)) return undefined;
  return {
    codec,
    rawLength: buffer.readUInt32LE(8),
    storedLength: buffer.readUInt32LE(12),
    hash: buffer.toString('hex', 16, 48) as Hash,
  };
}

/** `stored` shares memory with `bytes`. Undefined when `bytes` are not one intact record. */
export function decodeBlobRecord(bytes: Uint8Array): BlobRecord | undefined {
  const header = decodeBlobHeader(bytes);
  if (header === undefined) return undefined;
  if (bytes.length !== BLOB_OVERHEAD_BYTES + header.storedLength) return undefined;
  const buffer = toBuffer(bytes);
  if (!isSealed(buffer)) return undefined;
  const stored = buffer.subarray(BLOB_HEADER_BYTES, buffer.length - CRC_BYTES);
  return { codec: header.codec, rawLength: header.rawLength, hash: header.hash, stored };
}

function isBlobCodec(codec: number): codec is BlobCodecNumber {
  return codec <= BlobCodec.erased;
}

/** The stored form of some bytes: zstd where that makes them smaller, else the bytes themselves. */
export interface Compressed {
  readonly codec: BlobCodecNumber;
  readonly rawLength: number;
  readonly stored: Uint8Array;
}

/** A blob as a caller gives it. */
interface GivenBlob {
  readonly hash: Hash;
  readonly bytes: Uint8Array;
  readonly sha256?: string | undefined;
  /** `bytes` as a zstd frame, where the caller has one. */
  readonly zstd?: Uint8Array | undefined;
}

/** A blob in its stored form, to be written. */
export interface PreparedBlob {
  readonly hash: Hash;
  readonly compressed: Compressed;
  readonly sha256: string | undefined;
}

/** Below this size, a zstd frame's own overhead uses up the saving. */
export const COMPRESS_MIN_BYTES = 64;

/** Compresses a blob. The result keeps nothing of `bytes`, which the caller may reuse. */
export function prepareBlob({ hash, bytes, sha256, zstd }: GivenBlob): PreparedBlob {
  if (zstd !== undefined && zstd.length < bytes.length) {
    const compressed = { codec: BlobCodec.zstd, rawLength: bytes.length, stored: zstd };
    return { hash, compressed, sha256 };
  }
  const compressed = compressBlob(bytes);
  const own =
    compressed.stored === bytes ? { ...compressed, stored: new Uint8Array(bytes) } : compressed;
  return { hash, compressed: own, sha256 };
}

/** The smaller of both forms. */
export function compressBlob(bytes: Uint8Array): Compressed {
  const rawLength = bytes.length;
  if (rawLength >= COMPRESS_MIN_BYTES) {
    const stored = compress(bytes);
    if (stored.length < rawLength) return { codec: BlobCodec.zstd, rawLength, stored };
  }
  return { codec: BlobCodec.raw, rawLength, stored: bytes };
}
