import { decode, encode, rfc8949EncodeOptions } from 'cborg';
import { assertFaithful } from './msgpack.ts';
import { checkValueBounds, type ValueHeader } from './value-bounds.ts';

// CBOR as this store writes and shows it: core deterministic (RFC 8949, 4.2), so that equal values give equal bytes.
// An integer that a double can hold is shown as a number, a larger one as a bigint.

/** Throws a plain Error for a value that CBOR cannot hold. */
export function encodeCbor(value: unknown): Uint8Array {
  const bytes = encode(value, rfc8949EncodeOptions);
  assertFaithful(value);
  return bytes;
}

/** Throws a plain Error for bytes that are not one CBOR value, or one over the bounds, and for tags. */
export function decodeCbor(bytes: Uint8Array): unknown {
  checkValueBounds(bytes, readHeader, BREAK);
  return decode(bytes, { rejectDuplicateMapKeys: true });
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

function readHeader(view: DataView, at: number): ValueHeader {
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
