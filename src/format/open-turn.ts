import { crc32, readU64, toBuffer, writeU64 } from './bytes.ts';

// turns/open/<turn id>: a turn record (128 bytes), then deltas.         docs/format/turns.md
// 0         8         12      16        16+n
// | offset  | length  | crc32 | data …  |   little-endian
// | u64     | u32 = n | u32   | n bytes |   crc32 covers 0..12 and the data
export const DELTA_HEADER_BYTES = 16;

export interface Delta {
  /** The place of the data in the payload. */
  readonly offset: number;
  readonly data: Uint8Array;
}

export function encodeDelta(delta: Delta): Uint8Array {
  const { data } = delta;
  const buffer = Buffer.allocUnsafe(DELTA_HEADER_BYTES + data.length);
  writeU64(buffer, delta.offset, 0);
  buffer.writeUInt32LE(data.length, 8);
  buffer.writeUInt32LE(crc32(data, crc32(buffer.subarray(0, 12))), 12);
  buffer.set(data, DELTA_HEADER_BYTES);
  return buffer;
}

/**
 * The delta that begins at `start`; the next one begins after its header and data. `data` shares
 * memory with `bytes`. Undefined when it is cut short or damaged.
 */
export function decodeDelta(bytes: Uint8Array, start = 0): Delta | undefined {
  if (bytes.length < start + DELTA_HEADER_BYTES) return undefined;
  const buffer = toBuffer(bytes).subarray(start);
  const end = DELTA_HEADER_BYTES + buffer.readUInt32LE(8);
  if (buffer.length < end) return undefined;
  const data = buffer.subarray(DELTA_HEADER_BYTES, end);
  if (buffer.readUInt32LE(12) !== crc32(data, crc32(buffer.subarray(0, 12)))) return undefined;
  const offset = readU64(buffer, 0);
  return offset === undefined ? undefined : { offset, data };
}
