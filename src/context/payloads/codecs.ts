import { parseBoundedJson } from '../../base/bounded-json.ts';
import type { Hash } from '../../base/brand.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { QuipuError, invalid, tooLarge, messageOf } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import { assertWellFormed, decodeUtf8, encodeUtf8, kindOf, shown } from '../../base/text.ts';
import { Encoding, type EncodingName } from '../../format/turn-record.ts';
import { decodeCbor, encodeCbor, decodeMsgpack, encodeMsgpack } from './binary-values.ts';

/** An encoding by its name, or by its number when this process has no name for it. */
export type PayloadEncoding = EncodingName | (string & NonNullable<unknown>) | number;

/** A way between values and the bytes of payloads. Readers without the codec get the bytes. */
export interface Codec {
  /** The name of the encoding: a lower-case word of at most 64 letters, digits and hyphens. */
  readonly name: string;
  /**
   * The number that turns are stored with. 5 is protobuf, 6 FlatBuffers, 7 Cap'n Proto, 8 gob. From 1,024 on numbers
   * are yours.
   */
  readonly number: number;
  /** Gives equal values equal bytes, so that they are stored once. Throws for a value that does not fit. */
  encode(value: unknown): Uint8Array;
  /** Throws for bytes that are not in the encoding. The reader then gets the bytes. */
  decode(bytes: Uint8Array): unknown;
  /** Takes bytes in the encoding to the one form that equal values share. Default: they are stored as given. */
  canonicalise?(bytes: Uint8Array): Uint8Array;
}

/** If text is cut off in the middle of a character, as in an interrupted turn, this decoder shows U+FFFD there. */
const lenientText = new TextDecoder('utf-8', { ignoreBOM: true });

const OWN_NUMBERS_FROM = 1024;
const NUMBER_MAX = 0xffff_ffff;

/**
 * The encodings that this library reads and writes by itself. Bytes of MessagePack and CBOR are not looked into: they
 * may hold values that this library does not read.
 */
const BUILT_IN: Partial<Record<EncodingName, Codec>> = {
  json: {
    name: 'json',
    number: Encoding.json,
    encode: (value) => encodeUtf8(canonicalJson(value)),
    decode: (bytes) => parseBoundedJson(lenientText.decode(bytes)),
    canonicalise(bytes) {
      parseBoundedJson(decodeUtf8(bytes));
      return bytes;
    },
  },
  msgpack: {
    name: 'msgpack',
    number: Encoding.msgpack,
    encode: encodeMsgpack,
    decode: decodeMsgpack,
  },
  cbor: { name: 'cbor', number: Encoding.cbor, encode: encodeCbor, decode: decodeCbor },
  text: {
    name: 'text',
    number: Encoding.text,
    encode(value) {
      if (typeof value !== 'string') throw new TypeError(`expected a string, got ${kindOf(value)}`);
      assertWellFormed(value, 'the text');
      return encodeUtf8(value);
    },
    decode: (bytes) => lenientText.decode(bytes),
    canonicalise(bytes) {
      decodeUtf8(bytes);
      return bytes;
    },
  },
};

/** An encoding whose values only its users know. */
function bytesAlone(name: string, number: number): Codec {
  return {
    name,
    number,
    encode: refuseValue,
    decode: (bytes) => bytes,
  };
}

function refuseValue(value: unknown): never {
  throw new TypeError(`expected a Uint8Array, got ${kindOf(value)}`);
}

const byName = new Map<string, Codec>();
const byNumber = new Map<number, Codec>();
for (const [name, number] of Object.entries(Encoding)) {
  keep(BUILT_IN[name as EncodingName] ?? bytesAlone(name, number));
}

function keep(codec: Codec): void {
  byName.set(codec.name, codec);
  byNumber.set(codec.number, codec);
}

/**
 * Registers a codec for all stores of this process: the number of an encoding means the same in every store. Call the
 * result to take the codec back.
 */
export function registerCodec(codec: Codec): () => void {
  checkCodec(codec);
  const { name, number } = codec;
  const before = byNumber.get(number) ?? byName.get(name);
  const isFree = before === undefined || (holdsBytes(before) && before.number !== Encoding.bytes);
  if (!isFree) {
    throw invalid(
      'codec',
      `'${name}' cannot have the number ${number}: it is that of '${before.name}'`,
    );
  }
  const kept: Codec = {
    name,
    number,
    encode: (value) => ownBytes(codec.encode(value)),
    decode: (bytes) => codec.decode(bytes),
    canonicalise: (bytes) => ownBytes(codec.canonicalise?.(bytes) ?? bytes),
  };
  keep(kept);
  return () => {
    if (byNumber.get(number) !== kept) return;
    byName.delete(name);
    byNumber.delete(number);
    if (before !== undefined) keep(before);
  };
}

/** A copy: a codec may give its own buffer, and may answer with anything. */
function ownBytes(bytes: unknown): Uint8Array {
  if (bytes instanceof Uint8Array) return new Uint8Array(bytes);
  throw new TypeError('the codec did not return a Uint8Array');
}

/** The codec of this name or number. A number that has none stands for bytes. */
export function findCodec(encoding: string | number): Codec {
  const codec =
    typeof encoding === 'number'
      ? (byNumber.get(encoding) ?? bytesAlone(`encoding ${encoding}`, checkNumber(encoding)))
      : byName.get(encoding);
  if (codec !== undefined) return codec;
  const known = [...byName.keys()].join(', ');
  throw invalid('encoding', `must be one of ${known}, or a number, got ${shown(encoding)}`);
}

/** True when the encoding takes and gives bytes alone. */
export function holdsBytes(codec: Codec): boolean {
  return codec.encode === refuseValue;
}

/** The name of an encoding, or its number when it has none. */
export function encodingOf(number: number): PayloadEncoding {
  return byNumber.get(number)?.name ?? number;
}

/**
 * Returns the value in `bytes`; it may share memory with them. Throws when they are not in that encoding, or hold more
 * levels or values than a value may (`VALUE_BOUNDS`).
 */
export function decodePayload(bytes: Uint8Array, encoding: number): unknown {
  const codec = byNumber.get(encoding);
  return codec === undefined ? bytes : codec.decode(bytes);
}

function checkNumber(number: number): number {
  if (Number.isSafeInteger(number) && number >= 0 && number <= NUMBER_MAX) return number;
  throw invalid('encoding', `must be a whole number from 0 to ${NUMBER_MAX}, got ${number}`);
}

function checkCodec(codec: Codec): void {
  if (typeof codec !== 'object' || codec === null) {
    throw invalid('codec', `must be an object, got ${kindOf(codec)}`);
  }
  const { name, number } = codec;
  if (typeof name !== 'string' || !/^[a-z][a-z0-9-]{0,63}$/.test(name)) {
    throw invalid('codec', `needs a lower-case word as name, got ${shown(name)}`);
  }
  const known = Object.hasOwn(Encoding, name) ? Encoding[name as EncodingName] : undefined;
  if (known !== undefined ? number !== known : !(checkNumber(number) >= OWN_NUMBERS_FROM)) {
    const right = known ?? `${OWN_NUMBERS_FROM} or more`;
    throw invalid('codec', `'${name}' has the number ${number}, and it must be ${right}`);
  }
  for (const method of ['encode', 'decode'] as const) {
    if (typeof codec[method] !== 'function') {
      throw invalid('codec', `'${name}' needs a function ${method}`);
    }
  }
}

export interface PayloadRules {
  readonly maxPayloadBytes: number;
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
  encoding: PayloadEncoding | undefined,
  rules: PayloadRules,
): EncodedPayload {
  const codec = findCodec(encoding ?? (payload instanceof Uint8Array ? 'bytes' : 'json'));
  const bytes = toBytes(payload, codec);
  assertPayloadFits(bytes.length, rules.maxPayloadBytes);
  return { encoding: codec.number, bytes, hash: hashBytes(bytes) };
}

export function assertPayloadFits(size: number, limit: number): void {
  if (size <= limit) return;
  throw tooLarge('payload', limit, size, `the payload has ${size} bytes, and ${limit} are allowed`);
}

function toBytes(payload: unknown, codec: Codec): Uint8Array {
  try {
    if (!(payload instanceof Uint8Array)) return codec.encode(payload);
    // The caller keeps its array and may write to it before the commit reaches the disk.
    return new Uint8Array(codec.canonicalise?.(payload) ?? payload);
  } catch (error) {
    const why = messageOf(error);
    throw new QuipuError(
      'INVALID',
      `payload cannot be written in the encoding '${codec.name}': ${why}`,
      { what: 'payload' },
      { cause: error },
    );
  }
}
