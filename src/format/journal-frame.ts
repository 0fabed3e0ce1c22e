import { crc32 } from '../base/crc.ts';
import { isZero, readU64, toBuffer, writeU64 } from './bytes.ts';
import { decodeJournalWrite, encodedWriteLength, encodeJournalWrite } from './journal-write.ts';
import type { JournalWrite } from './journal-write.ts';

export type { JournalWrite } from './journal-write.ts';

// A frame of journal/a.wal or b.wal: one group of commits.              docs/format/journal.md
// 0        4          6       8      16             20             24          28            32
// | magic  | version  | zero  | seq  | body length  | write count  | body crc  | header crc  | body …
// | QJRN   | u16 = 1  | u16   | u64  | u32          | u32          | u32       | u32         |
// little-endian; header crc covers 0..28. A frame begins at a multiple of 4096 bytes, and zeros fill
// it up to the next.
export const FRAME_HEADER_BYTES = 32;
export const FRAME_ALIGN_BYTES = 4096;

const MAGIC = 'QJRN';
const VERSION = 1;
const HEADER_CRC_AT = 28;

export interface FrameHeader {
  readonly seq: number;
  readonly bodyLength: number;
  readonly writeCount: number;
  readonly bodyCrc: number;
}

/** The bytes that a frame with this body takes in the journal, header and padding included. */
export function frameLength(bodyLength: number): number {
  return Math.ceil((FRAME_HEADER_BYTES + bodyLength) / FRAME_ALIGN_BYTES) * FRAME_ALIGN_BYTES;
}

/** The whole frame with its padding, in one allocation. `salt` is the store's own, see `format-file.ts`. */
export function encodeFrame(seq: number, writes: readonly JournalWrite[], salt = 0): Uint8Array {
  let bodyLength = 0;
  for (const write of writes) bodyLength += encodedWriteLength(write);

  const buffer = Buffer.allocUnsafe(frameLength(bodyLength));
  let at = FRAME_HEADER_BYTES;
  for (const write of writes) at = encodeJournalWrite(write, buffer, at);
  buffer.fill(0, at);

  buffer.write(MAGIC, 0, 'latin1');
  buffer.writeUInt16LE(VERSION, 4);
  buffer.writeUInt16LE(0, 6);
  writeU64(buffer, seq, 8);
  buffer.writeUInt32LE(bodyLength, 16);
  buffer.writeUInt32LE(writes.length, 20);
  buffer.writeUInt32LE(crc32(buffer.subarray(FRAME_HEADER_BYTES, at)), 24);
  sealFrameHeader(buffer, salt);
  return buffer;
}

/**
 * Writes the checksum of a header. The checksum begins with the salt. Frames hold payloads, and because of the salt
 * no writer of payloads can make one that reads as the header of a frame.
 */
export function sealFrameHeader(header: Buffer, salt: number): void {
  header.writeUInt32LE(crc32(header.subarray(0, HEADER_CRC_AT), salt), HEADER_CRC_AT);
}

/** Reads the first 32 bytes of a frame. Undefined when they are not an intact header. */
export function decodeFrameHeader(bytes: Uint8Array, salt = 0): FrameHeader | undefined {
  if (bytes.length < FRAME_HEADER_BYTES) return undefined;
  const buffer = toBuffer(bytes);
  if (buffer.readUInt32LE(HEADER_CRC_AT) !== crc32(buffer.subarray(0, HEADER_CRC_AT), salt)) {
    return undefined;
  }
  if (buffer.toString('latin1', 0, 4) !== MAGIC || !isZero(buffer, 6, 8)) return undefined;
  if (buffer.readUInt16LE(4) !== VERSION) return undefined;
  const seq = readU64(buffer, 8);
  if (seq === undefined) return undefined;
  return {
    seq,
    bodyLength: buffer.readUInt32LE(16),
    writeCount: buffer.readUInt32LE(20),
    bodyCrc: buffer.readUInt32LE(24),
  };
}

/**
 * The writes of a frame, in order. Their data share memory with `body`. `body` is the part after the header, with
 * or without the padding, which must be zeros. Undefined when the body is cut short or damaged, or when a write
 * would leave the folder of the store.
 */
export function decodeFrameBody(header: FrameHeader, body: Uint8Array): JournalWrite[] | undefined {
  if (body.length < header.bodyLength) return undefined;
  const whole = toBuffer(body);
  const buffer = whole.subarray(0, header.bodyLength);
  if (crc32(buffer) !== header.bodyCrc) return undefined;
  if (!isZero(whole, header.bodyLength, whole.length)) return undefined;

  const writes: JournalWrite[] = [];
  let at = 0;
  while (at < buffer.length) {
    const decoded = decodeJournalWrite(buffer, at);
    if (decoded === undefined) return undefined;
    writes.push(decoded.write);
    at = decoded.end;
  }
  return writes.length === header.writeCount ? writes : undefined;
}
