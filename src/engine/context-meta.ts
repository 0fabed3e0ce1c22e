import { isFields } from '../base/fields.ts';
import { parseBoundedJson } from '../base/bounded-json.ts';
import { corrupt } from '../base/errors.ts';
import type { ContextMeta } from './rows.ts';

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
