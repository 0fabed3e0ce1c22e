import { shown } from './text.ts';
import { QuipuError } from './errors.ts';

declare const brand: unique symbol;
type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** BLAKE3-256 of some bytes, as 64 lower-case hex digits. */
export type Hash = Brand<string, 'Hash'>;
/** The hash that a store keeps of an idempotency key: 32 lower-case hex digits. See `format/idempotency.ts`. */
export type KeyHash = Brand<string, 'KeyHash'>;
/** Counts from 1 within a store; 0 stands for "no turn". Never reused. */
export type TurnId = Brand<bigint, 'TurnId'>;
/** Counts from 1 within a store. Never reused. */
export type ContextId = Brand<bigint, 'ContextId'>;

/** A bigint that is no id of something else: the id of a context is not taken for that of a turn. */
type PlainBigint = bigint & { readonly [brand]?: never };
/** The id of a turn as callers may give it. A string has decimal digits, as ids have in JSON. */
export type TurnIdLike = TurnId | PlainBigint | number | string;
/** The id of a context as callers may give it. A string has decimal digits, as ids have in JSON. */
export type ContextIdLike = ContextId | PlainBigint | number | string;

export const NO_TURN: TurnId = 0n as TurnId;

/** Ids are u64 on disk and on the wire, but dense from 1: past 2^53 nothing was ever handed out. */
const ID_MAX = BigInt(Number.MAX_SAFE_INTEGER);

/** The only way from text to `Hash`. Later code does not check again. */
export function toHash(text: string, what = 'hash'): Hash {
  if (typeof text === 'string' && /^[0-9a-f]{64}$/.test(text)) return text as Hash;
  throw new QuipuError(
    'INVALID',
    `expected 64 lower-case hex digits as ${what}, got ${shown(text)}`,
    { what },
  );
}

/** The only way to a `TurnId`. Zero passes only where "no turn" is a meaning. */
export function toTurnId(id: TurnIdLike, allowNone = false): TurnId {
  return toId('turn id', id, allowNone ? 0n : 1n) as TurnId;
}

/** The only way to a `ContextId`. */
export function toContextId(id: ContextIdLike): ContextId {
  return toId('context id', id, 1n) as ContextId;
}

/** Sixteen digits hold every id, and zeros before them would be a second text for the same id. */
const ID_DIGITS = /^(?:0|[1-9][0-9]{0,15})$/;

function toId(what: string, id: bigint | number | string, min: bigint): bigint {
  const isId =
    typeof id === 'bigint' ||
    (typeof id === 'number' && Number.isSafeInteger(id)) ||
    (typeof id === 'string' && ID_DIGITS.test(id));
  if (isId) {
    const wide = BigInt(id);
    if (wide >= min && wide <= ID_MAX) return wide;
  }
  const got = typeof id === 'string' ? JSON.stringify(id.slice(0, GOT_CHARS)) : String(id);
  throw new QuipuError('INVALID', `expected a ${what} of ${min} or more, got ${got}`, { what });
}

/** An error quotes no more of a wrong id than this. */
const GOT_CHARS = 64;
