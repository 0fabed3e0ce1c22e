import { InvalidArgumentError } from 'commander';
import { toContextId, toTurnId, type ContextId, type TurnId } from '../../base/brand.ts';
import type { EventType } from '../../queue/events/queue.ts';

// Parsers of arguments and option values. Each takes the whole text or nothing: `12abc` is not a number. The store
// decides what a number means (is there such a turn?).

export const EVENT_TYPES: readonly EventType[] = ['message', 'record'];

export function parseTurnId(text: string): TurnId {
  return toTurnId(parseId(text));
}

/** Parses an id for an option in which 0 means "no turn". */
export function parseTurnIdOrNone(text: string): TurnId {
  return toTurnId(parseId(text, ', or 0 for none'), true);
}

/** A context as people name it. */
export type GivenContext = ContextId | { readonly name: string };

/** Parses the id of a context, or its name. A name that does not begin with a letter has an `@` before it. */
export function parseContext(text: string): GivenContext {
  if (text.startsWith('@')) return { name: text.slice(1) };
  if (/^[0-9]{1,19}$/.test(text)) return toContextId(BigInt(text));
  if (/^\p{Letter}/u.test(text)) return { name: text };
  throw new InvalidArgumentError('Expected the id of a context, such as 42, or @ and its name.');
}

function parseId(text: string, others = ''): bigint {
  if (/^[0-9]{1,19}$/.test(text)) return BigInt(text);
  throw new InvalidArgumentError(`Expected an id, a whole number such as 42${others}.`);
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

const AGO = /^[0-9.]+[a-z]+$/;

/** Parses a time: a date, with a time of day or without, or how long ago it was. Returns milliseconds since 1970. */
export function parseTime(text: string): number {
  if (/^\d{4}-\d{2}-\d{2}(?:[T ][0-9:.]{5,12}(?:Z|[+-]\d{2}:?\d{2})?)?$/.test(text)) {
    const time = Date.parse(text.replace(' ', 'T'));
    if (!Number.isNaN(time)) return time;
  } else if (AGO.test(text)) return Date.now() - parseDuration(text);
  throw new InvalidArgumentError(
    'Expected a date such as 2026-11-18 or 2026-11-18T09:30Z, or a time ago such as 7d.',
  );
}

/** For options that may be given many times. */
export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

const DURATION_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

const SIZE_BYTES: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

/** Parses a time such as `10m` or `90d`, in milliseconds. A bare number must be 0, because its unit is unknown. */
export function parseDuration(text: string): number {
  const [, digits = '', unit = ''] = /^([0-9]{1,9}(?:\.[0-9]{1,3})?)([a-z]*)$/.exec(text) ?? [];
  const factor = Object.hasOwn(DURATION_MS, unit) ? DURATION_MS[unit] : undefined;
  if (digits !== '' && factor !== undefined) return Number(digits) * factor;
  if (text === '0') return 0;
  throw new InvalidArgumentError('Expected a time such as 30s, 10m, 12h, 90d or 2w.');
}

/** Parses a day or time, or a time before now such as `30d`. The result gives Unix milliseconds when told what now is. */
export function parseSince(text: string): (now: number) => number {
  if (AGO.test(text)) {
    const agoMs = parseDuration(text);
    return (now) => now - agoMs;
  }
  const at = parseTime(text);
  return () => at;
}

/** Parses a size such as `2GB` (decimal) or `512MiB` (binary), in bytes. */
export function parseSize(text: string): number {
  const [, digits = '', given = ''] =
    /^([0-9]{1,15}(?:\.[0-9]{1,3})?) ?([A-Za-z]*)$/.exec(text) ?? [];
  const unit = given.toLowerCase();
  const factor = Object.hasOwn(SIZE_BYTES, unit) ? SIZE_BYTES[unit] : undefined;
  if (digits !== '' && factor !== undefined) return Math.floor(Number(digits) * factor);
  throw new InvalidArgumentError('Expected a size such as 500MB, 2GB or 512MiB.');
}
