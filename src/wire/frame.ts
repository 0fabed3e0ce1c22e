import { tooLarge } from '../base/errors.ts';
import { lengthOf } from './byte-writer.ts';
import { FRAME_PAYLOAD_MAX } from './limits.ts';

// 0        4        6        8                 16            16+len   docs/reference/wire.md
// | len    | type   | flags  | request id      | payload …   |        little-endian
// | u32    | u16    | u16    | 8 bytes         | len bytes   |        len counts the payload alone
export const FRAME_HEADER_BYTES = 16;
export const REQUEST_ID_BYTES = 8;

export interface FrameHeader {
  /** The number of payload bytes that follow. */
  readonly length: number;
  readonly type: number;
  readonly flags: number;
  /** Eight bytes of the client's choice, sent back as they came. */
  readonly reqId: Buffer;
}

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly reqId: Buffer;
  readonly payload: Buffer;
}

/** Trusts `bytes` to hold at least a header. Keeps none of its memory. */
export function decodeFrameHeader(bytes: Buffer): FrameHeader {
  return {
    length: bytes.readUInt32LE(0),
    type: bytes.readUInt16LE(4),
    flags: bytes.readUInt16LE(6),
    reqId: Buffer.from(bytes.subarray(8, FRAME_HEADER_BYTES)),
  };
}

/** Makes one array for one write: a frame in several writes can wait for an acknowledgement between them. */
export function encodeFrame(
  type: number,
  flags: number,
  reqId: Uint8Array,
  ...parts: readonly Uint8Array[]
): Uint8Array {
  const length = lengthOf(parts);
  assertFits(length);
  const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES + length);
  writeHeader(frame, { length, type, flags, reqId });
  let at = FRAME_HEADER_BYTES;
  for (const part of parts) {
    frame.set(part, at);
    at += part.length;
  }
  return frame;
}

/** Makes the header alone, for a payload that is sent in the same write without being copied. */
export function encodeFrameHeader(header: HeaderFields): Uint8Array {
  assertFits(header.length);
  const bytes = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
  writeHeader(bytes, header);
  return bytes;
}

/** Writes into existing memory, for a request whose id is a number below 2^48. Returns where the payload goes. */
export function writeFrameHeader(
  target: Buffer,
  at: number,
  { length, type, flags, id }: NumberedHeader,
): number {
  target.writeUInt32LE(length, at);
  target.writeUInt16LE(type, at + 4);
  target.writeUInt16LE(flags, at + 6);
  target.writeUIntLE(id, at + 8, 6);
  target.writeUInt16LE(0, at + 14);
  return at + FRAME_HEADER_BYTES;
}

export interface NumberedHeader extends Omit<FrameHeader, 'reqId'> {
  readonly id: number;
}

type HeaderFields = Omit<FrameHeader, 'reqId'> & { readonly reqId: Uint8Array };

function writeHeader(frame: Buffer, { length, type, flags, reqId }: HeaderFields): void {
  frame.writeUInt32LE(length, 0);
  frame.writeUInt16LE(type, 4);
  frame.writeUInt16LE(flags, 6);
  frame.set(reqId, 8);
}

function assertFits(length: number): void {
  if (length <= FRAME_PAYLOAD_MAX) return;
  throw tooLarge(
    'frame',
    FRAME_PAYLOAD_MAX,
    length,
    `a message of ${length} bytes does not fit a frame`,
  );
}

/** The request id that holds a number. */
export function toReqId(value: bigint): Buffer {
  const reqId = Buffer.allocUnsafe(REQUEST_ID_BYTES);
  reqId.writeBigUInt64LE(value);
  return reqId;
}

/** A frame as one or more arrays, for one write. */
export interface OutgoingFrame {
  readonly chunks: readonly Uint8Array[];
  readonly length: number;
}

export interface FrameFields {
  readonly type: number;
  readonly flags: number;
  readonly reqId: Uint8Array;
}

/** Up to this size one array is cheaper than several. */
const WHOLE_BYTES = 8192;
/** From this size on a part is not copied. */
const LARGE_BYTES = 4096;

/** Large parts stay where they are, so that a page of payloads is not copied; small neighbours are joined. */
export function toFrame(fields: FrameFields, parts: readonly Uint8Array[]): OutgoingFrame {
  const { type, flags, reqId } = fields;
  const payload = lengthOf(parts);
  const length = FRAME_HEADER_BYTES + payload;
  if (length <= WHOLE_BYTES) return { chunks: [encodeFrame(type, flags, reqId, ...parts)], length };

  const chunks: Uint8Array[] = [];
  let small: Uint8Array[] = [encodeFrameHeader({ length: payload, type, flags, reqId })];
  for (const part of parts) {
    if (part.length < LARGE_BYTES) {
      small.push(part);
      continue;
    }
    if (small.length > 0) chunks.push(join(small));
    small = [];
    chunks.push(part);
  }
  if (small.length > 0) chunks.push(join(small));
  return { chunks, length };
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  return first !== undefined && parts.length === 1 ? first : Buffer.concat(parts);
}
