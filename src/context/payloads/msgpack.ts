import { decode, encode } from '@msgpack/msgpack';
import { assertWellFormed } from '../../base/text.ts';
import { checkValueBounds, type ValueHeader } from './value-bounds.ts';

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
  return narrowBigInts(decode(bytes, { useBigInt64: true }));
}

/**
 * Encoders silently wrap large integers around and replace lone surrogates. The encoder has refused cycles before this
 * walk.
 */
export function assertFaithful(value: unknown): void {
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
  checkValueBounds(bytes, readHeader);
}

function readHeader(view: DataView, at: number): ValueHeader {
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
