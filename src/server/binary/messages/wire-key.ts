import { isUtf8 } from 'node:buffer';
import { hexOf } from '../../../base/hex.ts';
import { decodeUtf8 } from '../../../base/utf8.ts';
import { NAME_BYTES_MAX } from '../../../wire/limits.ts';

/** Longer than any key that is text, so no text is ever the same as bytes that are not. */
const BYTES_MARK = 'bytes:'.padEnd(NAME_BYTES_MAX + 1, '.');

/** Keys are bytes on the wire and text in a store. Different bytes stay different. */
export function keyText(key: Uint8Array): string {
  return isUtf8(key) ? decodeUtf8(key) : BYTES_MARK + hexOf(key);
}
