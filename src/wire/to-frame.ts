import { lengthOf } from './byte-writer.ts';
import { FRAME_HEADER_BYTES, encodeFrame, encodeFrameHeader } from './frame.ts';

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
