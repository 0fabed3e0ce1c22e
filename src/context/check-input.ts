import { NO_TURN, toTurnId } from '../base/brand.ts';
import type { TurnId } from '../base/brand.ts';
import { invalid } from '../base/errors.ts';
import { checkBounded, checkLine, kindOf } from '../base/text.ts';
import type { ContextQuery } from '../engine/engine.ts';
import type { AppendOptions, ListOptions, OpenTurnOptions, ReadOptions } from './contexts.ts';
import {
  KEY_BYTES_MAX,
  KIND_CHARS_MAX,
  LABEL_CHARS_MAX,
  LIST_LIMIT_DEFAULT,
  PAGE_BYTES_DEFAULT,
  PAGE_TURNS_MAX,
  TYPE_BYTES_MAX,
  VERSION_MAX,
} from './limits.ts';
import type { PatchesInForce } from './turn.ts';

/** Read options with the defaults filled in. */
export interface CheckedRead {
  /** A number: only payloads of at most this many bytes. */
  readonly payload: boolean | number;
  readonly as: PatchesInForce;
  readonly maxBytes: number;
}

export interface Placement {
  readonly parent?: TurnId;
  readonly expectedHead?: TurnId;
}

export function checkRead(
  options: ReadOptions,
  maxBytesDefault: number = PAGE_BYTES_DEFAULT,
): CheckedRead {
  const { payload = true, as = 'latest', maxBytes = maxBytesDefault } = options;
  if (typeof payload === 'number') checkCount(payload, 'payload', Number.MAX_SAFE_INTEGER);
  else if (typeof payload !== 'boolean') {
    throw invalid('payload', `is a boolean or a number of bytes, got ${kindOf(payload)}`);
  }
  if (as !== 'latest' && as !== 'original' && !(Number.isSafeInteger(as) && as >= 0)) {
    throw invalid('as', `is 'latest', 'original' or a patch's sequence number, got ${String(as)}`);
  }
  return { payload, as, maxBytes: checkCount(maxBytes, 'maxBytes', Number.MAX_SAFE_INTEGER) };
}

/** Checks a whole number from 0 to `max`. */
export function checkCount(n: number, what: string, max: number): number {
  if (Number.isSafeInteger(n) && n >= 0 && n <= max) return n;
  throw invalid(what, `is a whole number from 0 to ${max}, got ${String(n)}`);
}

export function checkType(type: unknown): string {
  const text = checkBounded(type, 'type', TYPE_BYTES_MAX);
  if (/\p{Cc}/u.test(text)) throw invalid('type', 'has a control character');
  return text;
}

export function checkVersion(version: number = 1): number {
  return checkCount(version, 'version', VERSION_MAX);
}

/** Checks the place of a new turn. `parent: 0` does not mean "the head": leave it out for the head. */
export function checkPlacement(options: OpenTurnOptions): Placement {
  const { parent, expectedHead } = options;
  return {
    ...(parent !== undefined && { parent: toTurnId(parent) }),
    ...(expectedHead !== undefined && { expectedHead: toTurnId(expectedHead, true) }),
  };
}

export function checkKey(options: Pick<AppendOptions, 'idempotencyKey'>): string | undefined {
  const { idempotencyKey } = options;
  if (idempotencyKey === undefined) return undefined;
  return checkBounded(idempotencyKey, 'idempotencyKey', KEY_BYTES_MAX);
}

export function checkList(options: ListOptions): ContextQuery {
  const { label, kind, limit = LIST_LIMIT_DEFAULT, cursor } = options;
  if (cursor !== undefined && typeof cursor !== 'string') {
    throw invalid('cursor', `is a string from the page before, got ${kindOf(cursor)}`);
  }
  return {
    limit: checkCount(limit, 'limit', PAGE_TURNS_MAX),
    ...(label !== undefined && { label: checkLine(label, 'label', LABEL_CHARS_MAX) }),
    ...(kind !== undefined && { kind: checkLine(kind, 'kind', KIND_CHARS_MAX) }),
    ...(cursor !== undefined && { cursor }),
  };
}

/** Checks a patch's sequence number to compare with; 0 stands for "not patched". */
export function checkExpectedSeq(options: { readonly expectedSeq?: number }): {
  expectedSeq?: number;
} {
  const { expectedSeq } = options;
  if (expectedSeq === undefined) return {};
  return { expectedSeq: checkCount(expectedSeq, 'expectedSeq', Number.MAX_SAFE_INTEGER) };
}

/** Checks the depths `from` (inclusive) and `to` (exclusive) of a range. */
export function checkDepths(from: number, to: number): void {
  checkCount(from, 'fromDepth', Number.MAX_SAFE_INTEGER);
  checkCount(to, 'toDepth', Number.MAX_SAFE_INTEGER);
  if (from > to) throw invalid('toDepth', `is not less than fromDepth (${from}), got ${to}`);
}

/** Checks an optional turn to begin after. */
export function checkAfter(after: TurnId | undefined): TurnId {
  return after === undefined ? NO_TURN : toTurnId(after, true);
}

/** Returns the only item of a list, from a commit of one item. */
export function only<T>(items: readonly T[]): T {
  const [item] = items;
  if (item === undefined || items.length !== 1) {
    throw new TypeError(`expected one item, got ${items.length}`);
  }
  return item;
}
