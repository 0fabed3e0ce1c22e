import { isFields } from '../base/fields.ts';
import { invalid } from '../base/errors.ts';
import { assertWellFormed, checkString, kindOf } from '../base/text.ts';
import type { FieldCondition } from '../engine/engine.ts';
import {
  FIELD_CONDITIONS_MAX,
  FIELD_NAME_BYTES_MAX,
  FIELD_PREFIX_BYTES_MAX,
  toName,
  toPrefix,
} from '../engine/context-meta.ts';

/** The value of a field, or a condition on it. Objects and lists are found by `exists` alone. */
export type MetaCondition =
  | string
  | number
  | boolean
  | null
  /** The field is a string that begins with this text. */
  | { readonly prefix: string }
  | { readonly exists: boolean };

export type MetaConditions = Readonly<Record<string, MetaCondition>>;

/** Checks conditions that a caller gave by the names of fields. */
export function checkMeta(meta: MetaConditions): FieldCondition[] {
  if (!isFields(meta)) {
    throw invalid('meta', `must be an object of conditions by field, got ${kindOf(meta)}`);
  }
  const conditions = Object.entries(meta).filter(([, condition]) => condition !== undefined);
  if (conditions.length > FIELD_CONDITIONS_MAX) {
    throw invalid(
      'meta',
      `may have at most ${FIELD_CONDITIONS_MAX} conditions, got ${conditions.length}`,
    );
  }
  return conditions.map(([field, condition]) => checkCondition(field, condition));
}

function checkCondition(field: string, condition: MetaCondition): FieldCondition {
  if (toName(field).length > FIELD_NAME_BYTES_MAX) {
    throw invalid(
      'meta',
      `has a field whose name is longer than ${FIELD_NAME_BYTES_MAX - 2} bytes`,
    );
  }
  if (typeof condition !== 'object' || condition === null)
    return { field, is: checkValue(condition) };
  if ('prefix' in condition) return { field, prefix: checkFieldPrefix(condition.prefix) };
  if ('exists' in condition && typeof condition.exists === 'boolean') {
    return { field, exists: condition.exists };
  }
  throw invalid('meta', `takes a value, { prefix } or { exists } for ${JSON.stringify(field)}`);
}

function checkValue(value: unknown): string | number | boolean | null {
  const isValue = value === null || ['string', 'boolean'].includes(typeof value);
  if (isValue || Number.isFinite(value)) return value as string | number | boolean | null;
  throw invalid('meta', `must compare a field with a JSON value, got ${kindOf(value)}`);
}

function checkFieldPrefix(prefix: unknown): string {
  const text = checkString(prefix, 'meta');
  assertWellFormed(text, 'meta');
  if (toPrefix(text).length <= FIELD_PREFIX_BYTES_MAX) return text;
  throw invalid('meta', `has a prefix that is longer than ${FIELD_PREFIX_BYTES_MAX - 1} bytes`);
}

/**
 * Reads a condition as text: `key=value`, `key^=beginning`, `key` for a field that is there and `!key` for one that is
 * not. The value is JSON when it is a JSON number, string, `true`, `false` or `null`, and plain text otherwise.
 */
export function parseCondition(text: string): [field: string, condition: MetaCondition] {
  const at = text.indexOf('=');
  if (at === -1) {
    return text.startsWith('!') ? [text.slice(1), { exists: false }] : [text, { exists: true }];
  }
  const value = text.slice(at + 1);
  if (text[at - 1] === '^') return [text.slice(0, at - 1), { prefix: value }];
  return [text.slice(0, at), parseScalar(value)];
}

function parseScalar(text: string): string | number | boolean | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null)
      return value as string | number | boolean | null;
  } catch {
    // Not JSON: plain text.
  }
  return text;
}
