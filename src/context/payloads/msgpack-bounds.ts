import { checkValueBounds, type ValueHeader } from './value-bounds.ts';

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
