import { isSealed, readU64, seal, toBuffer, writeU64 } from './bytes.ts';

// .sums/<name>: checksums of a file that other programs may write to, beside that file. The head is at 0, the record of
// range n at 16 + n * 16. A range begins where the one before it ends, the first at 0.
// Head
// 0          8         12      16
// | QUIPUSUM | version | crc32 |
// | 8 bytes  | u32     | u32   |   crc32 covers 0..12
// Range
// 0        8           12      16
// | end    | checksum  | crc32 |
// | u64    | u32       | u32   |   crc32 covers 0..12
export const SUM_RECORD_BYTES = 16;
const MAGIC = Buffer.from('QUIPUSUM', 'latin1');
const VERSION = 1;

/** Ends before `end`; `sum` is the CRC-32 of its bytes. */
export interface SumRange {
  readonly end: number;
  readonly sum: number;
}

export function encodeSumsHead(): Uint8Array {
  const buffer = Buffer.alloc(SUM_RECORD_BYTES);
  buffer.set(MAGIC, 0);
  buffer.writeUInt32LE(VERSION, 8);
  seal(buffer);
  return buffer;
}

export function isSumsHead(bytes: Uint8Array): boolean {
  return toBuffer(bytes).equals(encodeSumsHead());
}

export function encodeSumRange({ end, sum }: SumRange): Uint8Array {
  const buffer = Buffer.alloc(SUM_RECORD_BYTES);
  writeU64(buffer, end, 0);
  buffer.writeUInt32LE(sum, 8);
  seal(buffer);
  return buffer;
}

/** Undefined when `bytes` are not one intact record. */
export function decodeSumRange(bytes: Uint8Array): SumRange | undefined {
  if (bytes.length !== SUM_RECORD_BYTES) return undefined;
  const buffer = toBuffer(bytes);
  const end = readU64(buffer, 0);
  if (!isSealed(buffer) || end === undefined) return undefined;
  return { end, sum: buffer.readUInt32LE(8) };
}
