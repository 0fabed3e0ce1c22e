import { OverBounds, VALUE_BOUNDS } from '../../base/bounded-json.ts';

// A MessagePack header claims a count before its elements come, and decoders allocate by it: five bytes claim an
// array of four billion. This walk allocates one stack of `depth` numbers, whatever the bytes say.
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
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  /** The number of values still to come, for each open level. */
  const open: number[] = [1];
  let at = 0;
  let values = 0;
  while (open.length > 0) {
    const left = open.at(-1) ?? 0;
    if (left === 0) {
      open.pop();
      continue;
    }
    open[open.length - 1] = left - 1;
    values += 1;
    if (values > VALUE_BOUNDS.values) throw new OverBounds('values');
    const { body, children } = readHeader(view, at);
    at += body;
    // Each value to come takes at least a byte.
    if (at + children > bytes.length) throw new RangeError('it claims more than its bytes hold');
    if (children === 0) continue;
    if (open.length > VALUE_BOUNDS.depth) throw new OverBounds('depth');
    open.push(children);
  }
}

/** The number of bytes of the header and of its own content, and the number of values that follow. */
interface Header {
  readonly body: number;
  readonly children: number;
}

function readHeader(view: DataView, at: number): Header {
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

function leaf(body: number): Header {
  return { body, children: 0 };
}

/** Reads a length of 1, 2 or 4 bytes, `extra` bytes, and as many bytes as the length says. */
function lengthed(view: DataView, at: number, power: number, extra: number): Header {
  const size = 2 ** power;
  const length =
    size === 1
      ? view.getUint8(at + 1)
      : size === 2
        ? view.getUint16(at + 1)
        : view.getUint32(at + 1);
  return leaf(1 + size + extra + length);
}
