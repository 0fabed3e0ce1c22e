import { join, resolve } from 'node:path';
import type { Engine } from '../engine/engine.ts';
import { indexInFolder } from '../search/files/index-place.ts';
import { createStore, type StoreOptions } from './create-store.ts';
import { SearchKeeper, type SearchHome } from './search-keeper.ts';
import type { Store } from './store.ts';

type Parts = Pick<SearchHome, 'queues' | 'place'>;

export interface KeptOptions
  extends
    Omit<StoreOptions, 'elsewhere' | 'queues' | 'search'>,
    Parts,
    Pick<SearchHome, 'settings'> {}

export interface KeptStore {
  /** The engine of the store: its erasures reach the index of search. */
  readonly engine: Engine;
  readonly store: Store;
}

/** The store of a process that keeps the data, with its search. */
export function keptStore(given: Engine, { place, settings, ...options }: KeptOptions): KeptStore {
  const { clock, folder, queues } = options;
  const search = new SearchKeeper({ engine: given, clock, folder, queues, place, settings });
  const { engine } = search;
  return { engine, store: createStore(engine, { ...options, search }) };
}

/** The places that belong to a store in a folder. */
export function partsIn(folder: string): Parts & { readonly folder: string } {
  const at = resolve(folder);
  return { folder: at, queues: { folder: join(at, 'queues') }, place: indexInFolder(at) };
}
