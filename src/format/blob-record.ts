import type { Hash } from '../base/brand.ts';
import { compress } from '../base/compress.ts';
import {
  copyInto,
  CRC_BYTES,
  isSealed,
  isZero,
  readU64,
  seal,
  toBuffer,
  writeU64,
} from './bytes.ts';

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
  /** The bytes are a chunk list, see `encodeChunkList`. */
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

// The stored bytes of a blob that is kept as chunks.                    docs/format/blobs.md
// 0        4       36      40                 4+36n
// | count  | hash  | size  | hash, size …     |   little-endian; the blob record has the checksum
// | u32    | 32    | u32   | n times in all   |
const COUNT_BYTES = 4;
const ENTRY_BYTES = 36;

/** A blob of its own, and its place in the whole by the order of the list. */
export interface Chunk {
  readonly hash: Hash;
  /** Raw bytes, 1 or more. */
  readonly size: number;
}

export function encodeChunkList(chunks: readonly Chunk[]): Uint8Array {
  const buffer = Buffer.allocUnsafe(COUNT_BYTES + ENTRY_BYTES * chunks.length);
  buffer.writeUInt32LE(chunks.length, 0);
  let at = COUNT_BYTES;
  for (const chunk of chunks) {
    buffer.write(chunk.hash, at, 32, 'hex');
    buffer.writeUInt32LE(chunk.size, at + 32);
    at += ENTRY_BYTES;
  }
  return buffer;
}

/** Undefined when the length does not fit the count, or a chunk would be empty. */
export function decodeChunkList(bytes: Uint8Array): Chunk[] | undefined {
  if (bytes.length < COUNT_BYTES) return undefined;
  const buffer = toBuffer(bytes);
  if (buffer.length !== COUNT_BYTES + ENTRY_BYTES * buffer.readUInt32LE(0)) return undefined;
  const chunks: Chunk[] = [];
  for (let at = COUNT_BYTES; at < buffer.length; at += ENTRY_BYTES) {
    const size = buffer.readUInt32LE(at + 32);
    if (size === 0) return undefined;
    chunks.push({ hash: buffer.toString('hex', at, at + 32) as Hash, size });
  }
  return chunks;
}

// The last record of a full pack.                                       docs/format/blobs.md
// 0        4          6       8        12      16        24      28
// | magic  | version  | zero  | count  | zero  | length  | crc32 |   little-endian
// | QEND   | u16 = 1  | u16   | u32    | u32   | u64     | u32   |   crc32 covers 0..24
export const PACK_END_BYTES = 28;

const END_MAGIC = 'QEND';
const END_VERSION = 1;

export interface PackEnd {
  /** Blob records in the pack. */
  readonly count: number;
  /** Bytes of the pack before this record. */
  readonly length: number;
}

export function encodePackEnd(end: PackEnd): Uint8Array {
  const buffer = Buffer.alloc(PACK_END_BYTES);
  buffer.write(END_MAGIC, 0, 'latin1');
  buffer.writeUInt16LE(END_VERSION, 4);
  buffer.writeUInt32LE(end.count, 8);
  writeU64(buffer, end.length, 16);
  seal(buffer);
  return buffer;
}

/** Undefined when `bytes` are not one intact record. */
export function decodePackEnd(bytes: Uint8Array): PackEnd | undefined {
  if (bytes.length !== PACK_END_BYTES) return undefined;
  const buffer = toBuffer(bytes);
  if (!isSealed(buffer) || buffer.toString('latin1', 0, 4) !== END_MAGIC) return undefined;
  if (buffer.readUInt16LE(4) !== END_VERSION) return undefined;
  if (!isZero(buffer, 6, 8) || !isZero(buffer, 12, 16)) return undefined;
  const length = readU64(buffer, 16);
  return length === undefined ? undefined : { count: buffer.readUInt32LE(8), length };
}

// aliases.log: other names of blobs. Record n is at n * 72, from 1.      docs/format/blobs.md
// 0             32              64      68      72
// | blob hash   | SHA-256       | zero  | crc32 |   crc32 covers 0..68
// | 32 bytes    | 32 bytes      | u32   | u32   |
export const ALIAS_RECORD_BYTES = 72;

export interface AliasRecord {
  readonly hash: Hash;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
}

export function encodeAliasRecord(record: AliasRecord): Uint8Array {
  const buffer = Buffer.alloc(ALIAS_RECORD_BYTES);
  buffer.write(record.hash, 0, 32, 'hex');
  buffer.write(record.sha256, 32, 32, 'hex');
  seal(buffer);
  return buffer;
}

/** Undefined when `bytes` are not one intact record. */
export function decodeAliasRecord(bytes: Uint8Array): AliasRecord | undefined {
  if (bytes.length !== ALIAS_RECORD_BYTES) return undefined;
  const buffer = toBuffer(bytes);
  if (!isSealed(buffer) || !isZero(buffer, 64, 68)) return undefined;
  return { hash: buffer.toString('hex', 0, 32) as Hash, sha256: buffer.toString('hex', 32, 64) };
}

// blobs/erased.log: which bytes of which pack were erased. Record n is at n * 72, from 0.
// 0            32      36      40        48        56           64      68      72
// | blob hash  | pack  | zero  | offset  | length  | erased ms  | zero  | crc32 |
// | 32 bytes   | u32   | u32   | u64     | u64     | u64        | u32   | u32   |   crc32 covers 0..68
export const ERASED_RECORD_BYTES = 72;

export interface ErasedRecord {
  readonly hash: Hash;
  /** The place of the record at the time. A collection may have moved or dropped it since. */
  readonly pack: number;
  readonly offset: number;
  readonly length: number;
  readonly erasedAt: number;
}

export function encodeErasedRecord(record: ErasedRecord): Uint8Array {
  const buffer = Buffer.alloc(ERASED_RECORD_BYTES);
  buffer.write(record.hash, 0, 32, 'hex');
  buffer.writeUInt32LE(record.pack, 32);
  writeU64(buffer, record.offset, 40);
  writeU64(buffer, record.length, 48);
  writeU64(buffer, record.erasedAt, 56);
  seal(buffer);
  return buffer;
}

/** Undefined when `bytes` are not one intact record. */
export function decodeErasedRecord(bytes: Uint8Array): ErasedRecord | undefined {
  if (bytes.length !== ERASED_RECORD_BYTES) return undefined;
  const buffer = toBuffer(bytes);
  if (!isSealed(buffer) || !isZero(buffer, 36, 40) || !isZero(buffer, 64, 68)) return undefined;
  const offset = readU64(buffer, 40);
  const length = readU64(buffer, 48);
  const erasedAt = readU64(buffer, 56);
  if (offset === undefined || length === undefined || erasedAt === undefined) return undefined;
  const hash = buffer.toString('hex', 0, 32) as Hash;
  return { hash, pack: buffer.readUInt32LE(32), offset, length, erasedAt };
}
