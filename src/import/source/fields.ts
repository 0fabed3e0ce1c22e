import { isFields } from '../../base/fields.ts';

// Reading values of unknown shape: a field that is not of the expected type is treated as missing.

/** The value at a path of field names. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (!isFields(found) || !Object.hasOwn(found, name)) return undefined;
    found = found[name];
  }
  return found;
}

/** The names that a JSON pointer leads along. */
export function pathOf(pointer: string): string[] {
  const names = pointer.split('/').slice(1);
  return names.map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The value at a path that may lead through lists. */
export function reach(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name))
      return undefined;
    found = (found as Record<string, unknown>)[name];
  }
  return found;
}

/** Looks up, in a table of ours, a name that a record gives: `constructor` and the like are in no table. */
export function inTable<T>(
  table: Readonly<Record<string, T>>,
  name: string | undefined,
): T | undefined {
  return name !== undefined && Object.hasOwn(table, name) ? table[name] : undefined;
}

export function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : undefined;
}

/** A whole number of things, such as tokens; 0 if it is none. */
export function countAt(value: unknown, ...path: readonly string[]): number {
  const found = at(value, ...path);
  return typeof found === 'number' && Number.isSafeInteger(found) && found > 0 ? found : 0;
}

export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

const SECONDS_MAX = 1e10;

/** Unix milliseconds of ISO text, seconds or milliseconds. */
export function timeAt(value: unknown, ...path: readonly string[]): number | undefined {
  const found = at(value, ...path);
  const ms =
    typeof found === 'string'
      ? Date.parse(found)
      : typeof found === 'number'
        ? Math.round(found < SECONDS_MAX ? found * 1000 : found)
        : NaN;
  return Number.isSafeInteger(ms) && Math.abs(ms) <= 8.64e15 ? ms : undefined;
}

/** The text of content that is a string, or a list of blocks with `text`. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return textAt(content, 'text') ?? '';
  return content
    .map((block) => (typeof block === 'string' ? block : (textAt(block, 'text') ?? '')))
    .filter((text) => text !== '')
    .join('\n');
}
