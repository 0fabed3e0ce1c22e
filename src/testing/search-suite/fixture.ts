import { expect, it, onTestFinished, type TestAPI } from 'vitest';
import type { SearchAnswer, SearchOptions } from '../../search/contract/search.ts';
import type { Store } from '../../store/store.ts';
import type { SearchOpening, SearchTarget } from './search-target.ts';
import { eachPage } from '../../base/pages.ts';
import { collect } from '../contexts-suite/fixture.ts';

/** Long enough on any machine: the suite is about what is found, and not about how soon. */
const WAIT_MS = 60_000;

/** Cases that get a fresh store, if they ask for it. */
export function searchCases(target: SearchTarget): TestAPI<{ store: Store }> {
  return it.extend<{ store: Store }>({
    // oxlint-disable-next-line no-empty-pattern -- a case asks for what it needs by its name, and so does this
    store: async ({}, use) => use(await openSearch(target)),
  });
}

export async function openSearch(target: SearchTarget, opening?: SearchOpening): Promise<Store> {
  const store = await target.open(opening);
  onTestFinished(() => store.close());
  return store;
}

/** An answer that knows everything. */
export async function ask(
  store: Store,
  query: string,
  options: SearchOptions = {},
): Promise<SearchAnswer> {
  const answer = await store.search(query, { waitMs: WAIT_MS, timeMs: 10_000, ...options });
  expect(answer.index.upToDate).toBe(true);
  return answer;
}

/** The ids of all hits of all pages. */
export async function idsOf(
  store: Store,
  query: string,
  options: SearchOptions = {},
): Promise<string[]> {
  const pages = await collect(eachPage((after) => ask(store, query, { ...options, ...after })));
  return pages.flatMap(({ hits }) => hits.map(({ id }) => id));
}

export interface Said {
  readonly role?: string;
  readonly content: unknown;
  readonly model?: string;
  readonly type?: string;
}

/** Appends messages to a new context. Returns the ids of the context and of the turns. */
export async function say(
  store: Store,
  ...said: readonly (string | Said)[]
): Promise<{ context: string; turns: string[] }> {
  const { id } = await store.contexts.create();
  const turns: string[] = [];
  for (const one of said) {
    const { type = 'chat.message', ...message } =
      typeof one === 'string' ? { role: 'user', content: one } : one;
    turns.push(String((await store.contexts.append(id, { type, payload: message })).id));
  }
  return { context: String(id), turns };
}
