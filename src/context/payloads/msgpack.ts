import { decode, encode } from '@msgpack/msgpack';
import { assertWellFormed } from '../../base/text.ts';
import { checkMsgpackBounds } from './msgpack-bounds.ts';

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
