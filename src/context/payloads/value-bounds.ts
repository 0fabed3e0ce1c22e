import { OverBounds, VALUE_BOUNDS } from '../../base/bounded-json.ts';

// In MessagePack and in CBOR a header claims a count before its elements come, and decoders allocate by it: a few bytes
// claim an array of billions. This walk allocates one stack of `depth` numbers, whatever the bytes say.

/** The number of bytes of a header and of its own content, and the number of values that follow. */
export interface ValueHeader {
  readonly body: number;
  /** Infinity: until the break of the encoding. */
  readonly children: number;
}

/** Throws a plain Error when the bytes are cut short, or hold a value over `VALUE_BOUNDS`. */
export function checkValueBounds(
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
