import { canonicalJson } from '../base/canonical-json.ts';
import {
  crc32,
  CRC_BYTES,
  isSealed,
  isZero,
  readText,
  readU64,
  seal,
  toBuffer,
  writeU64,
  zeroed,
} from './bytes.ts';

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
function sealFrameHeader(header: Buffer, salt: number): void {
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

// One change of one file, back to back in the body of a frame.          docs/format/journal.md
// 0       1       2              4              8         16      16+p      16+p+d
// | kind  | zero  | path length  | data length  | offset  | path  | data … |   little-endian
// | u8    | u8    | u16 = p      | u32 = d      | u64     | UTF-8 | d      |   covered by the body's crc32
const WRITE_HEADER_BYTES = 16;
const U64_BYTES = 8;
const KIND_BYTES = 1;
const KIND_WHOLE = 2;
const KIND_REMOVE = 3;
const KIND_EXTENT = 4;

/** `path` is relative to the store, with `/` between its parts. Doing one twice changes nothing. */
export type JournalWrite =
  /** These bytes at that offset. */
  | {
      readonly kind: 'bytes';
      readonly path: string;
      readonly offset: number;
      readonly data: Uint8Array;
    }
  /** The file is exactly these bytes. */
  | { readonly kind: 'whole'; readonly path: string; readonly data: Uint8Array }
  | { readonly kind: 'remove'; readonly path: string }
  /** These bytes were written and synced before the frame; nothing is left to do. */
  | {
      readonly kind: 'extent';
      readonly path: string;
      readonly offset: number;
      readonly length: number;
    };

export function encodedWriteLength(write: JournalWrite): number {
  return WRITE_HEADER_BYTES + Buffer.byteLength(write.path) + dataLength(write);
}

/** Writes it at `at` of a buffer with room for it, and returns where it ends. */
function encodeJournalWrite(write: JournalWrite, into: Buffer, at: number): number {
  const pathLength = into.write(write.path, at + WRITE_HEADER_BYTES, 'utf8');
  const data = at + WRITE_HEADER_BYTES + pathLength;
  into.writeUInt16LE(pathLength, at + 2);
  into.writeUInt32LE(dataLength(write), at + 4);
  writeU64(into, 'offset' in write ? write.offset : 0, at + 8);
  // The byte after the kind is zero, so both are written as one number.
  switch (write.kind) {
    case 'bytes':
      into.writeUInt16LE(KIND_BYTES, at);
      into.set(write.data, data);
      break;
    case 'whole':
      into.writeUInt16LE(KIND_WHOLE, at);
      into.set(write.data, data);
      break;
    case 'remove':
      into.writeUInt16LE(KIND_REMOVE, at);
      break;
    case 'extent':
      into.writeUInt16LE(KIND_EXTENT, at);
      writeU64(into, write.length, data);
      break;
  }
  return data + dataLength(write);
}

/** The write that begins at `at`. Undefined when it is not one, or its path is not in the store. */
function decodeJournalWrite(
  buffer: Buffer,
  at: number,
): { write: JournalWrite; end: number } | undefined {
  if (buffer.length < at + WRITE_HEADER_BYTES) return undefined;
  const pathEnd = at + WRITE_HEADER_BYTES + buffer.readUInt16LE(at + 2);
  const end = pathEnd + buffer.readUInt32LE(at + 4);
  if (buffer.length < end) return undefined;
  const path = readText(buffer, at + WRITE_HEADER_BYTES, pathEnd);
  const offset = readU64(buffer, at + 8);
  if (path === undefined || offset === undefined || !staysInStore(path)) return undefined;

  const data = buffer.subarray(pathEnd, end);
  const write = toWrite(buffer.readUInt16LE(at), { path, offset, data });
  return write === undefined ? undefined : { write, end };
}

function toWrite(
  kind: number,
  { path, offset, data }: { path: string; offset: number; data: Buffer },
): JournalWrite | undefined {
  if (kind === KIND_BYTES) return { kind: 'bytes', path, offset, data };
  if (kind === KIND_EXTENT && data.length === U64_BYTES) {
    const length = readU64(data, 0);
    return length === undefined ? undefined : { kind: 'extent', path, offset, length };
  }
  if (offset !== 0) return undefined;
  if (kind === KIND_WHOLE) return { kind: 'whole', path, data };
  if (kind === KIND_REMOVE && data.length === 0) return { kind: 'remove', path };
  return undefined;
}

function dataLength(write: JournalWrite): number {
  switch (write.kind) {
    case 'bytes':
    case 'whole':
      return write.data.length;
    case 'remove':
      return 0;
    case 'extent':
      return U64_BYTES;
  }
}

/** A store can come from a stranger: replaying its journal must not write anywhere else. */
function staysInStore(path: string): boolean {
  if (path.includes('\\') || path.includes('\0')) return false;
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

// journal/mark: a witness of the last acknowledged frame.               docs/format/journal.md
// 0        4       8      16      20
// | magic  | zero  | seq  | crc32 |   little-endian
// | QMRK   | u32   | u64  | u32   |   crc32 covers 0..16
export const MARK_BYTES = 20;

const MARK_MAGIC = 'QMRK';

export function encodeMark(seq: number): Uint8Array {
  const buffer = zeroed(MARK_BYTES);
  buffer.write(MARK_MAGIC, 0, 'latin1');
  writeU64(buffer, seq, 8);
  seal(buffer);
  return buffer;
}

/** The sequence number. Undefined when `bytes` are not one intact mark. */
export function decodeMark(bytes: Uint8Array): number | undefined {
  if (bytes.length !== MARK_BYTES) return undefined;
  const buffer = toBuffer(bytes);
  if (!isSealed(buffer) || !isZero(buffer, 4, 8)) return undefined;
  if (buffer.toString('latin1', 0, 4) !== MARK_MAGIC) return undefined;
  return readU64(buffer, 8);
}

// journal/checkpoint-a, checkpoint-b.                                   docs/format/journal.md
// 0        4          6       8             16     24             28       28+n    32+n
// | magic  | version  | zero  | generation  | seq  | body length  | body   | crc32 |   little-endian
// | QCKP   | u16 = 1  | u16   | u64         | u64  | u32 = n      | n      | u32   |   crc32 covers all before
const CHECKPOINT_HEADER_BYTES = 28;
const CHECKPOINT_MAGIC = 'QCKP';
const CHECKPOINT_VERSION = 1;

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
  const buffer = Buffer.alloc(CHECKPOINT_HEADER_BYTES + bodyLength + CRC_BYTES);
  buffer.write(CHECKPOINT_MAGIC, 0, 'latin1');
  buffer.writeUInt16LE(CHECKPOINT_VERSION, 4);
  writeU64(buffer, checkpoint.generation, 8);
  writeU64(buffer, checkpoint.seq, 16);
  buffer.writeUInt32LE(bodyLength, 24);
  buffer.write(body, CHECKPOINT_HEADER_BYTES, 'utf8');
  seal(buffer);
  return buffer;
}

/**
 * The checkpoint at the start of `bytes`, which may go on with the rest of a longer one that was there
 * before. Undefined when it is cut short or damaged.
 */
export function decodeCheckpoint(bytes: Uint8Array): Checkpoint | undefined {
  if (bytes.length < CHECKPOINT_HEADER_BYTES) return undefined;
  const bodyEnd = CHECKPOINT_HEADER_BYTES + toBuffer(bytes).readUInt32LE(24);
  if (bytes.length < bodyEnd + CRC_BYTES) return undefined;
  const buffer = toBuffer(bytes).subarray(0, bodyEnd + CRC_BYTES);
  if (!isSealed(buffer)) return undefined;
  if (buffer.toString('latin1', 0, 4) !== CHECKPOINT_MAGIC || !isZero(buffer, 6, 8))
    return undefined;
  if (buffer.readUInt16LE(4) !== CHECKPOINT_VERSION) return undefined;

  const generation = readU64(buffer, 8);
  const seq = readU64(buffer, 16);
  const body = readText(buffer, CHECKPOINT_HEADER_BYTES, bodyEnd);
  if (generation === undefined || seq === undefined || body === undefined) return undefined;
  try {
    return { generation, seq, body: JSON.parse(body) as unknown };
  } catch {
    // SyntaxError: sealed, but not by us.
    return undefined;
  }
}
