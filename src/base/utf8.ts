import { invalid } from './errors.ts';

// A byte order mark is data like any other: stored text comes back byte for byte.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Throws INVALID for bytes that are not UTF-8; replaces nothing. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw invalid('bytes', 'are not valid UTF-8');
  }
}

/** Trusts `text` to have no lone surrogates; they would become U+FFFD. */
export function encodeUtf8(text: string): Uint8Array {
  return Buffer.from(text, 'utf8');
}
