import { tooLarge } from '../base/errors.ts';
import { lengthOf } from './byte-codec.ts';
import { FRAME_PAYLOAD_MAX } from './limits.ts';
import { keepFreedMemory } from '../base/keep-freed-memory.ts';
import { toBuffer } from '../format/bytes.ts';

// 0        4        6        8                 16            16+len   docs/reference/wire.md
// | len    | type   | flags  | request id      | payload …   |        little-endian
// | u32    | u16    | u16    | 8 bytes         | len bytes   |        len counts the payload alone
export const FRAME_HEADER_BYTES = 16;
export const REQUEST_ID_BYTES = 8;

export interface FrameFields {
  readonly type: number;
  readonly flags: number;
  /** Eight bytes of the client's choice, sent back as they came. */
  readonly reqId: Uint8Array;
}

export interface FrameHeader extends FrameFields {
  readonly reqId: Buffer;
  /** The number of payload bytes that follow. */
  readonly length: number;
}

export interface Frame extends FrameFields {
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
  const frame = withHeader(FRAME_HEADER_BYTES + length, length, { type, flags, reqId });
  let at = FRAME_HEADER_BYTES;
  for (const part of parts) {
    frame.set(part, at);
    at += part.length;
  }
  return frame;
}

/** Memory for a frame of this length, or for its header alone. Throws TOO_LARGE. */
function withHeader(bytes: number, length: number, { type, flags, reqId }: FrameFields): Buffer {
  if (length > FRAME_PAYLOAD_MAX) {
    const message = `a message of ${length} bytes does not fit a frame`;
    throw tooLarge('frame', FRAME_PAYLOAD_MAX, length, message);
  }
  const memory = Buffer.allocUnsafe(bytes);
  memory.writeUInt32LE(length, 0);
  memory.writeUInt16LE(type, 4);
  memory.writeUInt16LE(flags, 6);
  memory.set(reqId, 8);
  return memory;
}

/** Writes into existing memory, for a request whose id is a number below 2^48. Returns where the payload goes. */
export function writeFrameHeader(
  target: Buffer,
  at: number,
  { length, type, flags, id }: Omit<FrameHeader, 'reqId'> & { readonly id: number },
): number {
  target.writeUInt32LE(length, at);
  target.writeUInt16LE(type, at + 4);
  target.writeUInt16LE(flags, at + 6);
  target.writeUIntLE(id, at + 8, 6);
  target.writeUInt16LE(0, at + 14);
  return at + FRAME_HEADER_BYTES;
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
  let small: Uint8Array[] = [withHeader(FRAME_HEADER_BYTES, payload, fields)];
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

// Cuts a stream of bytes into frames.
// Invariants
// - Chunks may end anywhere, also inside a header. The frames depend on the bytes alone.
// - Memory follows the bytes that have arrived, never the length that a header announces. It is at most about three
//   times the bytes of the frame in progress, however small the chunks are that bring them.
// - Nothing is read ahead: a chunk waits, whole, until `next` is called often enough.

export type FrameEvent =
  | ({ readonly kind: 'frame' } & Frame)
  /** The payload is over the limit. The reader skips it as it arrives, and reads the frames after it as usual. */
  | ({ readonly kind: 'oversized' } & FrameHeader);

/** A payload that does not come in one chunk is collected in memory that grows from this size. */
const FIRST_BYTES = 4096;
/** Below this size a read into memory of its own costs more than the copy that it saves. */
const ROOM_BYTES_MIN = 32 * 1024;

export class FrameReader {
  /** Payloads over this size are reported and skipped. A change applies to headers that are complete later. */
  maxPayload: number;

  readonly #own: boolean;
  readonly #waiting: Buffer[] = [];
  /** The number of bytes taken from the first waiting chunk. */
  #taken = 0;
  readonly #headerBytes = Buffer.alloc(FRAME_HEADER_BYTES);
  #headerFill = 0;
  /** The header of the frame in progress, once it is complete. */
  #header: FrameHeader | undefined;
  #payload = Buffer.alloc(0);
  #payloadFill = 0;
  /** The part of the payload that was given out to be read into. */
  #room: Buffer | undefined;
  #toSkip = 0;

  /**
   * `own`: each payload gets memory of its own, all of it at once. This is for a caller that trusts the sender with the
   * length. The caller may then reuse chunks as soon as `next` has no more frames.
   */
  constructor(maxPayload: number, { own = false }: { readonly own?: boolean } = {}) {
    this.maxPayload = maxPayload;
    this.#own = own;
  }

  /** True while a frame has begun and is not complete: the end of the stream would cut it. */
  get isMidFrame(): boolean {
    return this.#headerFill > 0 || this.#header !== undefined || this.#toSkip > 0;
  }

  /** Takes a chunk as it is. The caller must not change the chunk any more, except with `own`. */
  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    if (this.#room !== undefined && isBeginningOf(chunk, this.#room)) {
      this.#payloadFill += chunk.length;
    } else {
      this.#waiting.push(toBuffer(chunk));
    }
    this.#room = undefined;
  }

  /**
   * With `own`, memory of a large payload in progress. A caller that reads the next bytes into it, and pushes what was
   * read, saves a copy. The memory is valid until the next push.
   */
  room(): Buffer | undefined {
    const { length = 0 } = this.#header ?? {};
    const isNext = this.#own && this.#waiting.length === 0;
    if (!isNext || length - this.#payloadFill < ROOM_BYTES_MIN) return undefined;
    this.#room = this.#payload.subarray(this.#payloadFill);
    return this.#room;
  }

  /** The next frame, whose payload may share memory with a chunk. Undefined when more must arrive. */
  next(): FrameEvent | undefined {
    for (;;) {
      if (this.#header !== undefined && this.#header.length === this.#payloadFill) {
        return this.#finish(this.#header, this.#payload);
      }
      const chunk = this.#waiting[0];
      if (chunk === undefined) return undefined;
      const event = this.#advance(chunk.subarray(this.#taken));
      if (this.#taken === chunk.length) {
        this.#waiting.shift();
        this.#taken = 0;
      }
      if (event !== undefined) return event;
    }
  }

  /** Takes as much from `bytes`, which is not empty, as the state asks for. */
  #advance(bytes: Buffer): FrameEvent | undefined {
    if (this.#toSkip > 0) {
      const length = Math.min(this.#toSkip, bytes.length);
      this.#toSkip -= length;
      this.#taken += length;
      return undefined;
    }
    if (this.#header === undefined) return this.#takeHeader(bytes);
    return this.#takePayload(this.#header, bytes);
  }

  #takeHeader(bytes: Buffer): FrameEvent | undefined {
    const length = Math.min(FRAME_HEADER_BYTES - this.#headerFill, bytes.length);
    bytes.copy(this.#headerBytes, this.#headerFill, 0, length);
    this.#headerFill += length;
    this.#taken += length;
    if (this.#headerFill < FRAME_HEADER_BYTES) return undefined;

    this.#headerFill = 0;
    const header = decodeFrameHeader(this.#headerBytes);
    if (header.length > this.maxPayload) {
      this.#toSkip = header.length;
      return { kind: 'oversized', ...header };
    }
    this.#header = header;
    if (this.#own) this.#payload = allocate(header.length);
    return undefined;
  }

  #takePayload(header: FrameHeader, bytes: Buffer): FrameEvent | undefined {
    if (!this.#own && this.#payloadFill === 0 && bytes.length >= header.length) {
      this.#taken += header.length;
      return this.#finish(header, bytes.subarray(0, header.length));
    }
    const length = Math.min(header.length - this.#payloadFill, bytes.length);
    this.#makeRoom(this.#payloadFill + length, header.length);
    bytes.copy(this.#payload, this.#payloadFill, 0, length);
    this.#payloadFill += length;
    this.#taken += length;
    return undefined;
  }

  #makeRoom(needed: number, atMost: number): void {
    if (needed <= this.#payload.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.min(atMost, Math.max(FIRST_BYTES, 2 * needed)));
    this.#payload.copy(grown, 0, 0, this.#payloadFill);
    this.#payload = grown;
  }

  #finish(header: FrameHeader, payload: Buffer): FrameEvent {
    this.#header = undefined;
    this.#payload = Buffer.alloc(0);
    this.#payloadFill = 0;
    const { type, flags, reqId } = header;
    return { kind: 'frame', type, flags, reqId, payload };
  }
}

function allocate(length: number): Buffer<ArrayBuffer> {
  if (length >= ROOM_BYTES_MIN) keepFreedMemory();
  return Buffer.allocUnsafe(length);
}

function isBeginningOf(chunk: Uint8Array, room: Buffer): boolean {
  return chunk.buffer === room.buffer && chunk.byteOffset === room.byteOffset;
}
