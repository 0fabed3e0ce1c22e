import { decode, encode, rfc8949EncodeOptions } from 'cborg';
import { checkCborBounds } from './cbor-bounds.ts';
import { assertFaithful } from './msgpack.ts';

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
  checkCborBounds(bytes);
  return decode(bytes, { rejectDuplicateMapKeys: true });
}
