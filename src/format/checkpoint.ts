import { canonicalJson } from '../base/canonical-json.ts';
import {
  CRC_BYTES,
  isSealed,
  isZero,
  readText,
  readU64,
  seal,
  toBuffer,
  writeU64,
} from './bytes.ts';

// journal/checkpoint-a, checkpoint-b.                                   docs/format/journal.md
// 0        4          6       8             16     24             28       28+n    32+n
// | magic  | version  | zero  | generation  | seq  | body length  | body   | crc32 |   little-endian
// | QCKP   | u16 = 1  | u16   | u64         | u64  | u32 = n      | n      | u32   |   crc32 covers all before
const HEADER_BYTES = 28;
const MAGIC = 'QCKP';
const VERSION = 1;

export interface Checkpoint {
  /** Rises with every checkpoint; of two valid ones the higher counts. */
  readonly generation: number;
  /** Every frame up to this one is in the files; replay begins after it. */
  readonly seq: number;
  /** JSON; the engine gives it a meaning. */
  readonly body: unknown;
}

export function encodeCheckpoint(checkpoint: Checkpoint): Uint8Array {
  const body = canonicalJson(checkpoint.body);
  const bodyLength = Buffer.byteLength(body);
  const buffer = Buffer.alloc(HEADER_BYTES + bodyLength + CRC_BYTES);
  buffer.write(MAGIC, 0, 'latin1');
  buffer.writeUInt16LE(VERSION, 4);
  writeU64(buffer, checkpoint.generation, 8);
  writeU64(buffer, checkpoint.seq, 16);
  buffer.writeUInt32LE(bodyLength, 24);
  buffer.write(body, HEADER_BYTES, 'utf8');
  seal(buffer);
  return buffer;
}

/**
 * The checkpoint at the start of `bytes`, which may go on with the rest of a longer one that was there
 * before. Undefined when it is cut short or damaged.
 */
export function decodeCheckpoint(bytes: Uint8Array): Checkpoint | undefined {
  if (bytes.length < HEADER_BYTES) return undefined;
  const bodyEnd = HEADER_BYTES + toBuffer(bytes).readUInt32LE(24);
  if (bytes.length < bodyEnd + CRC_BYTES) return undefined;
  const buffer = toBuffer(bytes).subarray(0, bodyEnd + CRC_BYTES);
  if (!isSealed(buffer)) return undefined;
  if (buffer.toString('latin1', 0, 4) !== MAGIC || !isZero(buffer, 6, 8)) return undefined;
  if (buffer.readUInt16LE(4) !== VERSION) return undefined;

  const generation = readU64(buffer, 8);
  const seq = readU64(buffer, 16);
  const body = readText(buffer, HEADER_BYTES, bodyEnd);
  if (generation === undefined || seq === undefined || body === undefined) return undefined;
  try {
    return { generation, seq, body: JSON.parse(body) as unknown };
  } catch {
    // SyntaxError: sealed, but not by us.
    return undefined;
  }
}
