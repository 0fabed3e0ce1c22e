import { isSealed, readU64, seal, toBuffer, writeU64 } from './bytes.ts';

// turns/collected.map: turns whose payloads a collection took.           docs/format/turns.md
// 0        4          6      8              16        16+n    20+n
// | magic  | version  | zero | next turn    | bits    | crc32 |   n = ceil(next turn / 8)
// | QCOL   | u16      | u16  | u64          | n bytes | u32   |   bit t of byte floor(t / 8): turn t
const MAGIC = 'QCOL';
const VERSION = 1;
const HEADER_BYTES = 16;
const CRC_BYTES = 4;

/** A set of turn ids below `next`, one bit each. */
export interface CollectedMap {
  /** The first turn that the collection did not look at. */
  readonly next: number;
  readonly bits: Uint8Array;
}

export const NOTHING_COLLECTED: CollectedMap = { next: 0, bits: new Uint8Array() };

export function isCollected({ next, bits }: CollectedMap, turn: number): boolean {
  return turn < next && ((bits[Math.floor(turn / 8)] ?? 0) & (1 << (turn % 8))) !== 0;
}

/** The same map for turns below `next`, to be added to. */
export function extendCollected({ bits }: CollectedMap, next: number): CollectedMap {
  const more = new Uint8Array(Math.ceil(next / 8));
  more.set(bits);
  return { next, bits: more };
}

export function addCollected({ bits }: CollectedMap, turn: number): void {
  bits[turn >>> 3] = (bits[turn >>> 3] ?? 0) | (1 << (turn & 7));
}

export function encodeCollectedMap({ next, bits }: CollectedMap): Uint8Array {
  const buffer = Buffer.alloc(HEADER_BYTES + bits.length + CRC_BYTES);
  buffer.write(MAGIC, 0, 'latin1');
  buffer.writeUInt16LE(VERSION, 4);
  writeU64(buffer, next, 8);
  buffer.set(bits, HEADER_BYTES);
  seal(buffer);
  return buffer;
}

/** Undefined when `bytes` are not one intact map. */
export function decodeCollectedMap(bytes: Uint8Array): CollectedMap | undefined {
  const buffer = toBuffer(bytes);
  if (buffer.length < HEADER_BYTES + CRC_BYTES || !isSealed(buffer)) return undefined;
  if (buffer.toString('latin1', 0, 4) !== MAGIC || buffer.readUInt16LE(4) !== VERSION)
    return undefined;
  const next = readU64(buffer, 8);
  if (buffer.readUInt16LE(6) !== 0 || next === undefined) return undefined;
  const bits = buffer.subarray(HEADER_BYTES, buffer.length - CRC_BYTES);
  return bits.length === Math.ceil(next / 8) ? { next, bits: new Uint8Array(bits) } : undefined;
}
