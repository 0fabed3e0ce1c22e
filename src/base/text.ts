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

/** A lone surrogate has no UTF-8 form: it would come back as another character. */
export function assertWellFormed(text: string, what: string): void {
  if (/\p{Surrogate}/u.test(text)) throw invalid(what, 'has a lone surrogate and no UTF-8 form');
}

export function checkString(text: unknown, what: string): string {
  if (typeof text !== 'string') throw invalid(what, `must be a string, got ${kindOf(text)}`);
  return text;
}

/** Text for people to read in a list: bounded, and on one line. */
export function checkLine(given: unknown, what: string, maxChars: number): string {
  const text = checkString(given, what);
  if (text.length > maxChars) {
    throw invalid(what, `may have at most ${maxChars} characters, got ${text.length}`);
  }
  assertWellFormed(text, what);
  if (/\p{Cc}/u.test(text)) throw invalid(what, 'has a control character');
  return text;
}

/** Text that is not empty and takes at most `maxBytes` in UTF-8. */
export function checkBounded(given: unknown, what: string, maxBytes: number): string {
  const text = checkString(given, what);
  const bytes = Buffer.byteLength(text);
  if (bytes < 1 || bytes > maxBytes) {
    throw invalid(what, `must have 1 to ${maxBytes} bytes, got ${bytes}`);
  }
  assertWellFormed(text, what);
  return text;
}

/** One line that means nothing to Markdown or HTML. */
export function toMarkdownLine(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  return line.replace(/[\\`*_{}[\]<>()#+!|~&-]/g, (mark) => `\\${mark}`);
}

const SHOWN_CHARS_MAX = 200;

/** The value that the caller gave, for messages. It may be any value, also one that has no JSON, such as an id. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, SHOWN_CHARS_MAX));
  const isSimple = ['number', 'bigint', 'boolean', 'undefined'].includes(typeof value);
  return isSimple ? String(value) : kindOf(value);
}

/** Describes, for messages, the value that the caller gave instead. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : typeof value;
}
