import { isDeepStrictEqual } from 'node:util';
import { NO_TURN, type TurnId } from '../base/brand.ts';
import { VALUE_BOUNDS, findExcess } from '../base/bounded-json.ts';
import { isQuipuError } from '../base/errors.ts';
import { groupsOf, eachPage } from '../base/pages.ts';
import { untilFirst } from '../base/retry.ts';
import type { Context } from '../context/context.ts';
import type { AppendOptions, NewTurn } from '../context/contexts.ts';
import type { Turn } from '../context/turn.ts';
import type { Store } from '../store/store.ts';

// The threads of an agent are contexts with names of several parts, such as `langgraph/<thread>/<namespace>/0`. A slash
// in a part is escaped, so no part can reach into another thread.

/** Returns the name that these parts make. */
export function joinName(...parts: readonly string[]): string {
  return parts.map((part) => part.replaceAll('%', '%25').replaceAll('/', '%2F')).join('/');
}

export function splitName(name: string): string[] {
  return name.split('/').map((part) => part.replaceAll('%2F', '/').replaceAll('%25', '%'));
}

/** Returns the contexts whose name begins with these parts, from older to newer. */
export async function contextsUnder(
  store: Store,
  ...parts: readonly string[]
): Promise<(Context & { readonly name: string })[]> {
  const found = new Map<bigint, Context & { readonly name: string }>();
  const query = { namePrefix: `${joinName(...parts)}/`, limit: 1000 };
  const pages = eachPage((after) => store.contexts.list({ ...query, ...after }));
  for await (const { items } of pages) {
    for (const context of items) {
      if (context.name !== undefined) found.set(context.id, { ...context, name: context.name });
    }
  }
  return [...found.values()].toSorted((a, b) => Number(a.id - b.id));
}

// The values of an agent as turns: which of them are stored already, and what takes the place of the others.

/** A value on the way to the head. `id` is undefined for one that has no turn of its own. */
export interface Stored<T> {
  readonly id: TurnId | undefined;
  readonly payload: T;
}

/**
 * Returns how many of the values are stored already, and the turn that the others follow. Keys may be in another order.
 * What others have appended behind the last value stays before the next one.
 */
export function keptOf<T>(
  head: TurnId,
  stored: readonly Stored<unknown>[],
  values: readonly T[],
): { keep: number; parent: TurnId } {
  const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
  const firstNew = values.findIndex((value, at) => {
    const { id, payload } = stored[at] ?? {};
    if (id === undefined || payload === value) return id === undefined;
    const json = asJson(value);
    // What was stored as JSON needs no second look. Bytes in it do, and fields that are undefined.
    return !isDeepStrictEqual(payload, json) && !isDeepStrictEqual(asJson(payload), json);
  });
  const keep = firstNew === -1 ? values.length : firstNew;
  return { keep, parent: keep === stored.length ? head : (stored[keep - 1]?.id ?? NO_TURN) };
}

const BATCH_TURNS = 5000;

/** Cuts turns into those that go into one append each. */
export function batchesOf(turns: readonly NewTurn[]): Iterable<NewTurn[]> {
  return groupsOf(turns, BATCH_TURNS);
}

/** Returns the value of a turn of ours. Undefined for one that was erased, and for turns of others, such as a note. */
export function ownPayload({ type, payload }: Turn, own: string): object | undefined {
  return type === own && typeof payload === 'object' && payload !== null ? payload : undefined;
}

/**
 * Replaces what comes after `parent` on the way to the head: with a branch of these turns, or with nothing. One commit
 * for up to 5,000 turns. HEAD_MOVED when another writer was first. With `keepHead`, what was there stays as a branch.
 * Returns the head then.
 */
export async function replaceAfter(
  store: Store,
  { id, head }: Pick<Context, 'id' | 'head'>,
  turns: readonly NewTurn[],
  { parent, ...kept }: Pick<AppendOptions, 'keepHead'> & { readonly parent: TurnId },
): Promise<TurnId> {
  let last = parent;
  let at: AppendOptions = { parent, expectedHead: head, ...kept };
  if (turns.length === 0 && parent !== head) await store.contexts.moveHead(id, parent, at);
  for (const batch of batchesOf(turns)) {
    last = (await store.contexts.appendBatch(id, batch, at)).at(-1)?.id ?? last;
    at = { parent: last, expectedHead: last };
  }
  return last;
}

/** Returns a turn with `value` as JSON, its keys in their order. */
export function toJsonTurn(type: string, value: unknown): NewTurn {
  return { type, encoding: 'json', payload: Buffer.from(JSON.stringify(value)) };
}

/** Returns the bytes of a value as JSON; Infinity for one over the bounds, also if JSON cannot be written so deep. */
export function jsonBytes(value: unknown): number {
  try {
    const json = JSON.stringify(value);
    return findExcess(json, VALUE_BOUNDS) === undefined ? Buffer.byteLength(json) : Infinity;
  } catch {
    return Infinity;
  }
}

/** Carries `attempt` out again when another writer has moved, made or removed what it relies on. */
export function withRetries<T>(attempt: () => Promise<T>, lookAgain?: () => unknown): Promise<T> {
  return untilFirst(attempt, { isLost, lookAgain });
}

function isLost(error: unknown): boolean {
  return isQuipuError(error) && ['HEAD_MOVED', 'EXISTS', 'NOT_FOUND'].includes(error.code);
}
