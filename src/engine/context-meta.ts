import { isFields } from '../base/fields.ts';
import { parseBoundedJson } from '../base/bounded-json.ts';
import { corrupt } from '../base/errors.ts';
import type { ContextMeta } from './rows.ts';
import { sha256Hex } from '../base/hash.ts';
import { encodeUtf8 } from '../base/text.ts';
import type { FieldCondition } from './engine.ts';

// The metadata of a context as a file or a database has it. Nobody says that a commit wrote this text.

/** Undefined for a text that no commit writes. */
export function readContextMeta(text: string): ContextMeta | undefined {
  let value: unknown;
  try {
    value = parseBoundedJson(text);
  } catch {
    // SyntaxError: the answer.
    return undefined;
  }
  if (!isFields(value)) return undefined;
  const { name, title, kind, labels = [] } = value as Record<string, unknown>;
  const isSaid = (text: unknown): boolean => text === undefined || typeof text === 'string';
  const isList = Array.isArray(labels) && labels.every((label) => typeof label === 'string');
  return [name, title, kind].every(isSaid) && isList ? value : undefined;
}

/** `file`: where the text stands. */
export function mustReadContextMeta(text: string, id: number, file: string): ContextMeta {
  const meta = readContextMeta(text);
  if (meta !== undefined) return meta;
  throw corrupt(
    file,
    `the metadata of context ${id} in ${file} cannot be read. Nothing was changed; restore it from a backup`,
  );
}

// The top-level fields of a context's `meta` as an index keeps them, in both engines alike. A field is two byte strings
// that sort as bytes: the JSON text of its name, and that of its value.
// - An object or a list is its first byte alone: whether it is there can be asked, and not what it holds.
// - A value of more than `VALUE_BYTES` is cut, then the byte 255, which no text has, and a part of its SHA-256.
// - A name of more than `FIELD_NAME_BYTES_MAX` is in no index, and cannot be asked for.
// So each condition is one range of the values of one name, and no condition needs the details themselves.

export interface MetaField {
  readonly name: Uint8Array;
  readonly value: Uint8Array;
}

/** The values of a field that a condition takes: `from` and up to `to`, which is not among them. */
export interface FieldRange {
  readonly name: Uint8Array;
  readonly from: Uint8Array;
  readonly to: Uint8Array;
  /** False: the condition takes contexts without such a value. */
  readonly found: boolean;
}

const VALUE_BYTES = 256;
const HASH_BYTES = 16;
/** In JSON text, with its quotes. */
export const FIELD_NAME_BYTES_MAX = 256;
/** In JSON text, with its opening quote: shorter than what is kept of any value. */
export const FIELD_PREFIX_BYTES_MAX: number = VALUE_BYTES - 1;
/** The number of conditions in one query. */
export const FIELD_CONDITIONS_MAX = 8;

const NO_BYTES = new Uint8Array();
const AFTER_ALL = Uint8Array.of(0xff);

/** The fields of `meta` that can be asked for. Only an object has any. */
export function fieldsOf(meta: unknown): MetaField[] {
  if (!isFields(meta)) return [];
  return Object.entries(meta)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ({ name: toName(name), value: toValue(value) }))
    .filter(({ name }) => name.length <= FIELD_NAME_BYTES_MAX);
}

export function toRange(condition: FieldCondition): FieldRange {
  const name = toName(condition.field);
  if ('is' in condition) {
    const from = toValue(condition.is);
    return { name, from, to: Buffer.concat([from, Uint8Array.of(0)]), found: true };
  }
  if ('prefix' in condition) {
    const from = toPrefix(condition.prefix);
    return { name, from, to: Buffer.concat([from, AFTER_ALL]), found: true };
  }
  return { name, from: NO_BYTES, to: AFTER_ALL, found: condition.exists };
}

export function toName(name: string): Uint8Array {
  return encodeUtf8(JSON.stringify(name));
}

/** The beginning of the JSON text of every string that begins with `prefix`. */
export function toPrefix(prefix: string): Uint8Array {
  return encodeUtf8(JSON.stringify(prefix).slice(0, -1));
}

function toValue(value: unknown): Uint8Array {
  if (typeof value === 'object' && value !== null)
    return encodeUtf8(Array.isArray(value) ? '[' : '{');
  const text = encodeUtf8(JSON.stringify(value));
  if (text.length <= VALUE_BYTES) return text;
  const hash = Buffer.from(sha256Hex(text), 'hex').subarray(0, HASH_BYTES);
  return Buffer.concat([text.subarray(0, VALUE_BYTES), AFTER_ALL, hash]);
}
