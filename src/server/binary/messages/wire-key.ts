import { isUtf8 } from 'node:buffer';
import { hexOf } from '../../../base/hex.ts';
import { decodeUtf8 } from '../../../base/utf8.ts';
import { NAME_BYTES_MAX } from '../../../wire/limits.ts';

/** Longer than any key that is text, so no text key can equal the form of a key of other bytes. */
const BYTES_MARK = 'bytes:'.padEnd(NAME_BYTES_MAX + 1, '.');

/** Turns the bytes of a key on the wire into the text of a key in a store. Different bytes give different texts. */
export function keyText(key: Uint8Array): string {
  return isUtf8(key) ? decodeUtf8(key) : BYTES_MARK + hexOf(key);
}
