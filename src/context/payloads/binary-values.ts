import { decode, encode } from '@msgpack/msgpack';
import { assertWellFormed } from '../../base/text.ts';
import { OverBounds, VALUE_BOUNDS } from '../../base/bounded-json.ts';
import * as cborg from 'cborg';

// In MessagePack and in CBOR a header claims a count before its elements come, and decoders allocate by it: a few bytes
// claim an array of billions. This walk allocates one stack of `depth` numbers, whatever the bytes say.

/** The number of bytes of a header and of its own content, and the number of values that follow. */
interface ValueHeader {
  readonly body: number;
  /** Infinity: until the break of the encoding. */
  readonly children: number;
}

/** Throws a plain Error when the bytes are cut short, or hold a value over `VALUE_BOUNDS`. */
function checkValueBounds(
  bytes: Uint8Array,
  readHeader: (view: DataView, at: number) => ValueHeader,
  breakByte?: number,
): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  /** The number of values still to come, for each open level. */
  const open: number[] = [1];
  let at = 0;
  let values = 0;
  while (open.length > 0) {
    const left = open.at(-1) ?? 0;
    if (left === 0 || (left === Infinity && view.getUint8(at) === breakByte)) {
      if (left > 0) at += 1;
      open.pop();
      continue;
    }
    open[open.length - 1] = left - 1;
    values += 1;
    if (values > VALUE_BOUNDS.values) throw new OverBounds('values');
    const { body, children } = readHeader(view, at);
    at += body;
    // Each value to come takes at least a byte, as does a break.
    const least = children === Infinity ? 1 : children;
    if (at + least > bytes.length) throw new RangeError('it claims more than its bytes hold');
    if (children === 0) continue;
    if (open.length > VALUE_BOUNDS.depth) throw new OverBounds('depth');
    open.push(children);
  }
}

// MessagePack as this store writes and shows it: keys sorted, so that equal values give equal bytes,
// and integers never rounded. A 64-bit integer that a double can hold is shown as a number, a larger
// one as a bigint.

const INT64_MIN = -(2n ** 63n);
const UINT64_MAX = 2n ** 64n - 1n;

/** Throws a plain Error for a value that MessagePack cannot hold. */
export function encodeMsgpack(value: unknown): Uint8Array {
  const bytes = encode(value, { sortKeys: true, useBigInt64: true });
  assertFaithful(value);
  return bytes;
}

/** Throws a plain Error for bytes that are not one MessagePack value, or one over the bounds. */
export function decodeMsgpack(bytes: Uint8Array): unknown {
  checkMsgpackBounds(bytes);
  return narrowBigInts(decode(bytes, { useBigInt64: true, mapKeyConverter: toKey }));
}

/**
 * Encoders silently wrap large integers around and replace lone surrogates. The encoder has refused cycles before this
 * walk.
 */
function assertFaithful(value: unknown): void {
  if (typeof value === 'string') {
    assertWellFormed(value, 'a string in it');
  } else if (typeof value === 'bigint') {
    if (value < INT64_MIN || value > UINT64_MAX) throw new RangeError(`${value} is over 64 bits`);
  } else if (isContainer(value)) {
    for (const [key, item] of Object.entries(value)) {
      assertWellFormed(key, 'a key in it');
      // Decoders refuse this key, because an assignment to it would change the prototype of an object.
      if (key === '__proto__') throw new TypeError('a key in it is __proto__');
      assertFaithful(item);
    }
  }
}

/** Encoders of Go write the whole numbers that are keys in 64 bits, however small they are. */
function toKey(key: unknown): string | number {
  if (typeof key === 'string' || typeof key === 'number') return key;
  if (typeof key === 'bigint') return String(key);
  throw new TypeError(`a key of a map is neither a text nor a number, but ${typeof key}`);
}

function narrowBigInts(value: unknown): unknown {
  if (typeof value === 'bigint') {
    const narrow = Number(value);
    return Number.isSafeInteger(narrow) ? narrow : value;
  }
  if (Array.isArray(value)) {
    const items: unknown[] = value;
    for (let index = 0; index < items.length; index += 1)
      items[index] = narrowBigInts(items[index]);
  } else if (isContainer(value)) {
    for (const key of Object.keys(value)) value[key] = narrowBigInts(value[key]);
  }
  return value;
}

/** Returns true for an array or a map, and not for bytes, dates and extensions, which are objects too. */
function isContainer(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}

// Five bytes of MessagePack claim an array of four billion.
//
// first byte   value                       behind it                              https://msgpack.org, spec.md
// 00-7f e0-ff  small integer               nothing
// 80-8f        map of 0 to 15 pairs        its keys and values
// 90-9f        array of 0 to 15            its elements
// a0-bf        text of 0 to 31 bytes       its bytes
// c0 c2 c3     nil, false, true            nothing
// c1           never used                  an error
// c4-c6        bytes                       length of 1, 2 or 4 bytes, the bytes
// c7-c9        extension                   length of 1, 2 or 4 bytes, type, the bytes
// ca-cb cc-cf d0-d3  number                4 or 8; 1, 2, 4 or 8 bytes
// d4-d8        extension                   type, 1, 2, 4, 8 or 16 bytes
// d9-db        text                        length of 1, 2 or 4 bytes, the bytes
// dc-dd        array                       count of 2 or 4 bytes, its elements
// de-df        map                         count of 2 or 4 bytes, its keys and values

/** Throws a plain Error when the bytes are cut short, or hold a value over `VALUE_BOUNDS`. */
export function checkMsgpackBounds(bytes: Uint8Array): void {
  checkValueBounds(bytes, readMsgpackHeader);
}

function readMsgpackHeader(view: DataView, at: number): ValueHeader {
  const first = view.getUint8(at);
  if (first < 0x80 || first >= 0xe0) return leaf(1);
  if (first < 0x90) return { body: 1, children: 2 * (first & 0x0f) };
  if (first < 0xa0) return { body: 1, children: first & 0x0f };
  if (first < 0xc0) return leaf(1 + (first & 0x1f));
  if (first < 0xc4) return leaf(1);
  if (first < 0xc7) return lengthed(view, at, first - 0xc4, 0);
  if (first < 0xca) return lengthed(view, at, first - 0xc7, 1);
  if (first < 0xcc) return leaf(first === 0xca ? 5 : 9);
  if (first < 0xd0) return leaf(1 + 2 ** (first - 0xcc));
  if (first < 0xd4) return leaf(1 + 2 ** (first - 0xd0));
  if (first < 0xd9) return leaf(2 + 2 ** (first - 0xd4));
  if (first < 0xdc) return lengthed(view, at, first - 0xd9, 0);
  const size = first % 2 === 0 ? 2 : 4;
  const count = size === 2 ? view.getUint16(at + 1) : view.getUint32(at + 1);
  return { body: 1 + size, children: first < 0xde ? count : 2 * count };
}

function leaf(body: number): ValueHeader {
  return { body, children: 0 };
}

/** Reads a length of 1, 2 or 4 bytes, `extra` bytes, and as many bytes as the length says. */
function lengthed(view: DataView, at: number, power: number, extra: number): ValueHeader {
  const size = 2 ** power;
  const length =
    size === 1
      ? view.getUint8(at + 1)
      : size === 2
        ? view.getUint16(at + 1)
        : view.getUint32(at + 1);
  return leaf(1 + size + extra + length);
}

// CBOR as this store writes and shows it: core deterministic (RFC 8949, 4.2), so that equal values give equal bytes.
// An integer that a double can hold is shown as a number, a larger one as a bigint.

/** Throws a plain Error for a value that CBOR cannot hold. */
export function encodeCbor(value: unknown): Uint8Array {
  const bytes = cborg.encode(value, cborg.rfc8949EncodeOptions);
  assertFaithful(value);
  return bytes;
}

/** Throws a plain Error for bytes that are not one CBOR value, or one over the bounds, and for tags. */
export function decodeCbor(bytes: Uint8Array): unknown {
  checkValueBounds(bytes, readCborHeader, BREAK);
  return cborg.decode(bytes, { rejectDuplicateMapKeys: true });
}

// Nine bytes of CBOR claim an array of 2^64.
//
// first byte: 3 bits of kind, 5 bits that are the argument or say where it is                       RFC 8949, 3
// kind 0 1     integer                     nothing
// kind 2 3     bytes, text                 as many bytes as the argument says
// kind 4       array                       as many values as the argument says
// kind 5       map                         twice as many values
// kind 6       tag                         one value
// kind 7       simple value, float         nothing: the argument is the value
// argument     0-23 itself, 24-27 in the next 1, 2, 4 or 8 bytes, 31 none: the end is the byte ff

const BREAK = 0xff;
const KIND = { bytes: 2, text: 3, array: 4, map: 5, tag: 6 } as const;

function readCborHeader(view: DataView, at: number): ValueHeader {
  const first = view.getUint8(at);
  const kind = first >> 5;
  const { length, value } = readArgument(view, at, first & 0x1f);
  const body = 1 + length;
  switch (kind) {
    case KIND.bytes:
    case KIND.text:
      if (value === Infinity) throw new RangeError('it has a text or bytes without a length');
      return { body: body + value, children: 0 };
    case KIND.array:
      return { body, children: value };
    case KIND.map:
      return { body, children: 2 * value };
    case KIND.tag:
      return { body, children: 1 };
    default:
      if (value === Infinity) throw new RangeError('it ends something that has a length');
      return { body, children: 0 };
  }
}

/** The length of the argument in bytes, and its value. Beyond 2^53 the value is rounded: no bytes are that long. */
function readArgument(
  view: DataView,
  at: number,
  info: number,
): { readonly length: number; readonly value: number } {
  if (info < 24) return { length: 0, value: info };
  if (info === 24) return { length: 1, value: view.getUint8(at + 1) };
  if (info === 25) return { length: 2, value: view.getUint16(at + 1) };
  if (info === 26) return { length: 4, value: view.getUint32(at + 1) };
  if (info === 27) return { length: 8, value: Number(view.getBigUint64(at + 1)) };
  if (info === 31) return { length: 0, value: Infinity };
  throw new RangeError('it has a byte that CBOR does not use');
}
