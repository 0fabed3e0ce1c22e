import { invalid } from './errors.ts';
import { kindOf, shown } from './text.ts';

// Checks of arguments that are no texts. Each returns the value, and throws INVALID with the name of the argument.

export function checkWhole(value: unknown, what: string, min: number, max: number): number {
  if (Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max) {
    return Number(value);
  }
  throw invalid(what, `must be a whole number from ${min} to ${max}, got ${shown(value)}`);
}

/** A whole number from 0, given as a number, a bigint or decimal digits. */
export function toWhole(value: unknown, what: string): number {
  const isDigits = typeof value === 'string' && /^(?:0|[1-9][0-9]{0,15})$/.test(value);
  const number = isDigits || typeof value === 'bigint' ? Number(value) : value;
  if (typeof number === 'number' && Number.isSafeInteger(number) && number >= 0) return number;
  throw invalid(what, `must be a whole number from 0, got ${shown(value)}`);
}

/** A misspelled option would do nothing, silently. `known` has the names of all options of the verb `what`. */
export function checkNames(
  options: object,
  known: Readonly<Record<string, true>>,
  what: string,
): void {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  const names = Object.keys(known).join(', ');
  throw invalid(what, `has no option ${JSON.stringify(unknown)}; it has ${names}`);
}

export function checkBoolean(value: unknown, what: string): boolean {
  if (typeof value === 'boolean') return value;
  throw invalid(what, `must be a boolean, got ${kindOf(value)}`);
}

export function checkSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw invalid('signal', `must be an AbortSignal, got ${kindOf(signal)}`);
}

/** The one item of a list that has one: what a commit of one change gives back. */
export function only<T>(items: readonly T[]): T {
  const [item] = items;
  if (item === undefined || items.length !== 1) {
    throw new TypeError(`expected one item, got ${items.length}`);
  }
  return item;
}
