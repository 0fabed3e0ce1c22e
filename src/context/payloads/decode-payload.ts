import { parseBoundedJson } from '../../base/bounded-json.ts';
import { Encoding } from '../../format/turn-record.ts';
import { decodeMsgpack } from './msgpack.ts';

/** If text is cut off in the middle of a character, as in an interrupted turn, this decoder shows U+FFFD there. */
const lenientText = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Returns the value in `bytes`; it may share memory with them. Throws a plain Error when they are not in that encoding,
 * or hold more levels or values than a value may (`VALUE_BOUNDS`).
 */
export function decodePayload(bytes: Uint8Array, encoding: number): unknown {
  switch (encoding) {
    case Encoding.json:
      return parseBoundedJson(lenientText.decode(bytes));
    case Encoding.msgpack:
      return decodeMsgpack(bytes);
    case Encoding.text:
      return lenientText.decode(bytes);
    default:
      return bytes;
  }
}

/** Returns `value` in a form that JSON can carry: bytes as base64, integers over 2^53 as decimal strings. */
export function toJsonValue(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Uint8Array) return toBase64(value);
  if (Array.isArray(value)) return value.map(toJsonValue);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toJsonValue(item)]));
}

function toBase64(bytes: Uint8Array): { base64: string } {
  return { base64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64') };
}
