import { isUtf8 } from 'node:buffer';
import { parseBoundedJson } from '../base/bounded-json.ts';
import type { Hash } from '../base/brand.ts';
import { invalid } from '../base/errors.ts';
import { hashBytes } from '../base/hash.ts';
import { decodeUtf8, encodeUtf8 } from '../base/text.ts';
import { Encoding } from '../format/turn-record.ts';

// A message is what one request appended, and one turn. The messages of a JSON stream are arrays of values, as text:
// numbers and the order of keys stay as they came.

/** The type of the turns that hold messages. Turns of other types in the same context are no messages. */
export const MESSAGE_TYPE = 'stream.message';
/** The type of the last turn of a closed stream. It moves the head, so an append that did not see it fails. */
export const CLOSED_TYPE = 'stream.closed';

export interface Message {
  readonly bytes: Uint8Array;
  readonly hash: Hash;
  readonly encoding: number;
}

const JSON_TYPE = 'application/json';
const [OPEN, CLOSE, COMMA, QUOTE, BACKSLASH] = [0x5b, 0x5d, 0x2c, 0x22, 0x5c];
const [OPEN_OBJECT, CLOSE_OBJECT] = [0x7b, 0x7d];

/** The type of content without its parameters, in lower case. */
export function mediaType(type: string): string {
  return (type.split(';')[0] ?? '').trim().toLowerCase();
}

export function isJsonType(type: string): boolean {
  return mediaType(type) === JSON_TYPE;
}

export function isTextType(type: string): boolean {
  return mediaType(type).startsWith('text/');
}

/** The message that a body makes in a stream of this type. Undefined for an empty list of JSON values. */
export function toMessage(body: Uint8Array, type: string): Message | undefined {
  if (!isJsonType(type)) {
    const isText = isTextType(type) && isUtf8(body);
    return named(body, isText ? Encoding.text : Encoding.bytes);
  }
  const text = decodeUtf8(body).trim();
  const value = parseValue(text);
  if (!Array.isArray(value)) return named(encodeUtf8(`[${text}]`), Encoding.json);
  return value.length === 0 ? undefined : named(encodeUtf8(text), Encoding.json);
}

function named(bytes: Uint8Array, encoding: number): Message {
  return { bytes, hash: hashBytes(bytes), encoding };
}

function parseValue(text: string): unknown {
  try {
    return parseBoundedJson(text);
  } catch (error) {
    throw invalid('body', `is not JSON: ${error instanceof Error ? error.message : ''}`);
  }
}

/**
 * The values of a stored JSON message as they stand between the brackets of an array. What is no array, such as the
 * payload of a patch, is one value. Undefined for what is no JSON at all.
 */
export function jsonValues(stored: Uint8Array): Uint8Array | undefined {
  if (stored[0] === OPEN && stored.at(-1) === CLOSE) return stored.subarray(1, -1);
  try {
    parseBoundedJson(decodeUtf8(stored));
    return stored;
  } catch {
    // Not written by this program.
    return undefined;
  }
}

/** The first `count` bytes, or values of a JSON message, as a message of their own. INVALID when it has fewer. */
export function firstPart(stored: Uint8Array, type: string, count: number): Message {
  if (!isJsonType(type)) {
    if (count > stored.length) throw beyond(count);
    return toMessage(stored.slice(0, count), type) as Message;
  }
  const values = jsonValues(stored) ?? new Uint8Array();
  const part = values.subarray(0, endOfValue(values, count));
  return named(Buffer.concat([Buffer.from('['), part, Buffer.from(']')]), Encoding.json);
}

/** Where the value number `count` ends, in values with commas between them. */
function endOfValue(values: Uint8Array, count: number): number {
  let [seen, depth, isQuoted] = [0, 0, false];
  for (let at = 0; at < values.length; at += 1) {
    const byte = values[at];
    if (isQuoted) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isQuoted = false;
    } else if (byte === QUOTE) isQuoted = true;
    else if (byte === OPEN || byte === OPEN_OBJECT) depth += 1;
    else if (byte === CLOSE || byte === CLOSE_OBJECT) depth -= 1;
    else if (byte === COMMA && depth === 0) {
      seen += 1;
      if (seen === count) return at;
    }
  }
  if (values.length === 0 || seen + 1 < count) throw beyond(count);
  return values.length;
}

function beyond(count: number): Error {
  return invalid('Stream-Fork-Sub-Offset', `is ${count}, and the next message has less than that`);
}
