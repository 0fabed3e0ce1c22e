import type { Hash } from '../base/brand.ts';
import { toBuffer } from './bytes.ts';

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
