import { parseBoundedJson } from '../../base/bounded-json.ts';
import type { Hash } from '../../base/brand.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { QuipuError, invalid } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import { assertWellFormed, decodeUtf8, encodeUtf8, kindOf } from '../../base/text.ts';
import { Encoding } from '../../format/turn-record.ts';
import type { EncodingName } from '../../format/turn-record.ts';
import { encodeMsgpack } from './msgpack.ts';

/** Gives equal payloads equal bytes, so that they are stored once. */
export type Canonicaliser = (payload: unknown) => Uint8Array;

export interface PayloadRules {
  readonly maxPayloadBytes: number;
  /** Used in place of the encoding's own way to bytes. */
  readonly canonicalisers: Partial<Record<EncodingName, Canonicaliser>>;
}

/** Bytes that nobody else can change any more, and their name. */
export interface EncodedPayload {
  readonly encoding: number;
  readonly bytes: Uint8Array;
  readonly hash: Hash;
}

/** Returns the bytes to store for a caller's payload. Throws INVALID when it does not fit the encoding. */
export function encodePayload(
  payload: unknown,
  encoding: EncodingName | undefined,
  rules: PayloadRules,
): EncodedPayload {
  const name = checkEncoding(encoding ?? (payload instanceof Uint8Array ? 'bytes' : 'json'));
  const bytes = toBytes(payload, name, rules.canonicalisers[name]);
  assertPayloadFits(bytes.length, rules.maxPayloadBytes);
  return { encoding: Encoding[name], bytes, hash: hashBytes(bytes) };
}

export function checkEncoding(name: EncodingName): EncodingName {
  if (Object.hasOwn(Encoding, name)) return name;
  const known = Object.keys(Encoding).join(', ');
  throw invalid('encoding', `is one of ${known}, got ${JSON.stringify(name)}`);
}

export function assertPayloadFits(size: number, limit: number): void {
  if (size <= limit) return;
  throw new QuipuError('TOO_LARGE', `the payload has ${size} bytes, and ${limit} are allowed`, {
    what: 'payload',
    limit,
    size,
  });
}

function toBytes(
  payload: unknown,
  name: EncodingName,
  canonicaliser: Canonicaliser | undefined,
): Uint8Array {
  try {
    if (canonicaliser !== undefined) return new Uint8Array(canonicaliser(payload));
    // The caller keeps its array and may write to it before the commit reaches the disk.
    if (payload instanceof Uint8Array) return new Uint8Array(checkEncoded(payload, name));
    return encodeValue(payload, name);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new QuipuError(
      'INVALID',
      `payload does not go into the encoding '${name}': ${why}`,
      { what: 'payload' },
      { cause: error },
    );
  }
}

/** MessagePack is not looked into: its bytes may hold values that this library does not read. */
function checkEncoded(bytes: Uint8Array, name: EncodingName): Uint8Array {
  if (name === 'text' || name === 'json') {
    const text = decodeUtf8(bytes);
    if (name === 'json') parseBoundedJson(text);
  }
  return bytes;
}

function encodeValue(value: unknown, name: EncodingName): Uint8Array {
  switch (name) {
    case 'json':
      return encodeUtf8(canonicalJson(value));
    case 'msgpack':
      return encodeMsgpack(value);
    case 'text':
      if (typeof value !== 'string') throw new TypeError(`expected a string, got ${kindOf(value)}`);
      assertWellFormed(value, 'the text');
      return encodeUtf8(value);
    case 'bytes':
      throw new TypeError(`expected a Uint8Array, got ${kindOf(value)}`);
  }
}
