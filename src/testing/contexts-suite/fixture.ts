import { expect, onTestFinished } from 'vitest';
import type { ContextId, TurnId } from '../../base/brand.ts';
import type { Contexts } from '../../context/contexts.ts';
import type { Turn } from '../../context/turn.ts';
import type { Store } from '../../store/store.ts';
import { PAYLOAD_BYTES_MAX } from './contexts-target.ts';
import type { ContextsTarget } from './contexts-target.ts';

/** Opens a fresh store that is closed when the test is over, whatever its result. */
export async function openStore(target: ContextsTarget): Promise<Store> {
  const store = await target.open({ maxPayloadBytes: PAYLOAD_BYTES_MAX });
  onTestFinished(() => store.close());
  return store;
}

/** A store with one context that has a turn per payload. */
export async function openWith(
  target: ContextsTarget,
  ...payloads: unknown[]
): Promise<{ store: Store; contexts: Contexts; id: ContextId; ids: TurnId[] }> {
  const store = await openStore(target);
  const { contexts } = store;
  const { id } = await contexts.create();
  return { store, contexts, id, ids: await appendAll(contexts, id, payloads) };
}

export async function appendAll(
  contexts: Contexts,
  id: ContextId,
  payloads: readonly unknown[],
): Promise<TurnId[]> {
  const ids: TurnId[] = [];
  for (const payload of payloads) {
    ids.push((await contexts.append(id, { type: 'test.note', payload })).id);
  }
  return ids;
}

export function payloadsOf(turns: readonly Turn[]): unknown[] {
  return turns.map((turn) => turn.payload);
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Returns the next `count` items of an iteration that goes on. */
export async function take<T>(items: AsyncIterator<T>, count: number): Promise<T[]> {
  const taken: T[] = [];
  while (taken.length < count) {
    const next = await items.next();
    if (next.done === true) throw new Error(`ended after ${taken.length} of ${count} items`);
    taken.push(next.value);
  }
  return taken;
}

/** The iterator of an iteration that goes on. It ends when the test is over. */
export function iterate<T>(start: (signal: AbortSignal) => AsyncIterable<T>): AsyncIterator<T> {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  return start(controller.signal)[Symbol.asyncIterator]();
}

/** For assertions that must hold for thrown and rejected errors alike. */
export async function settle(work: () => unknown): Promise<unknown> {
  return work();
}

export function expectIds(turns: readonly Turn[], ids: readonly TurnId[]): void {
  expect(turns.map((turn) => turn.id)).toEqual(ids);
}
