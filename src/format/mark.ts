import { isZero, readU64, toBuffer, writeU64, zeroed } from './bytes.ts';
import { isSealed, seal } from './crc-seal.ts';

// journal/mark: a witness of the last acknowledged frame.               docs/format/journal.md
// 0        4       8      16      20
// | magic  | zero  | seq  | crc32 |   little-endian
// | QMRK   | u32   | u64  | u32   |   crc32 covers 0..16
export const MARK_BYTES = 20;

const MAGIC = 'QMRK';

export function encodeMark(seq: number): Uint8Array {
  const buffer = zeroed(MARK_BYTES);
  buffer.write(MAGIC, 0, 'latin1');
  writeU64(buffer, seq, 8);
  seal(buffer);
  return buffer;
}

/** The sequence number. Undefined when `bytes` are not one intact mark. */
export function decodeMark(bytes: Uint8Array): number | undefined {
  if (bytes.length !== MARK_BYTES) return undefined;
  const buffer = toBuffer(bytes);
  if (!isSealed(buffer) || !isZero(buffer, 4, 8)) return undefined;
  if (buffer.toString('latin1', 0, 4) !== MAGIC) return undefined;
  return readU64(buffer, 8);
}
