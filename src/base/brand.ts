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

export const NO_TURN: TurnId = 0n as TurnId;

/** Ids are u64 on disk and on the wire, but dense from 1: past 2^53 nothing was ever handed out. */
const ID_MAX = BigInt(Number.MAX_SAFE_INTEGER);

/** The only way from text to `Hash`. Later code does not check again. */
export function toHash(text: string, what = 'hash'): Hash {
  if (typeof text === 'string' && /^[0-9a-f]{64}$/.test(text)) return text as Hash;
  throw new QuipuError(
    'INVALID',
    `expected 64 lower-case hex digits as ${what}, got ${JSON.stringify(text)}`,
    { what },
  );
}

/** The one door from a number to `TurnId`. Zero passes only where "no turn" is a meaning. */
export function toTurnId(id: bigint | number, allowNone = false): TurnId {
  return toId('turn id', id, allowNone ? 0n : 1n) as TurnId;
}

/** The one door from a number to `ContextId`. */
export function toContextId(id: bigint | number): ContextId {
  return toId('context id', id, 1n) as ContextId;
}

function toId(what: string, id: bigint | number, min: bigint): bigint {
  if (typeof id === 'bigint' || (typeof id === 'number' && Number.isSafeInteger(id))) {
    const wide = BigInt(id);
    if (wide >= min && wide <= ID_MAX) return wide;
  }
  throw new QuipuError('INVALID', `expected a ${what} of ${min} or more, got ${String(id)}`, {
    what,
  });
}
