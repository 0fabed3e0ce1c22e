import { InvalidArgumentError } from 'commander';
import type { ContextId, TurnId } from '../base/brand.ts';
import { toContextId, toTurnId } from '../base/brand.ts';

// Parsers of arguments and option values. Each takes the whole text or nothing: `12abc` is not a number. The store
// decides what a number means (is there such a turn?).

export function parseTurnId(text: string): TurnId {
  return toTurnId(parseId(text));
}

/** Parses an id for an option in which 0 means "no turn". */
export function parseTurnIdOrNone(text: string): TurnId {
  return toTurnId(parseId(text), true);
}

export function parseContextId(text: string): ContextId {
  return toContextId(parseId(text));
}

function parseId(text: string): bigint {
  if (/^[0-9]{1,19}$/.test(text)) return BigInt(text);
  throw new InvalidArgumentError('Expected an id, a whole number such as 42.');
}

/** A count, depth or sequence number. */
export function parseCount(text: string): number {
  const value = Number(text);
  if (/^[0-9]{1,16}$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError('Expected a whole number.');
}

export function parseSeconds(text: string): number {
  if (/^[0-9]{1,9}(?:\.[0-9]{1,9})?$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a number of seconds.');
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new InvalidArgumentError(`Expected JSON: ${(error as SyntaxError).message}.`);
  }
}

/** Parses the version of the payloads to read: the newest, the first, or as of a patch's number. */
export function parseAs(text: string): 'latest' | 'original' | number {
  if (text === 'latest' || text === 'original') return text;
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected latest, original or the number of a patch.');
}

/** For options that may be given many times. */
export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}
