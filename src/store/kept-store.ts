import { join, resolve } from 'node:path';
import type { Engine } from '../engine/engine.ts';
import { indexInFolder } from '../search/files/index-place.ts';
import { createStore } from './create-store.ts';
import type { StoreOptions } from './create-store.ts';
import { SearchKeeper } from './search-keeper.ts';
import type { SearchHome } from './search-keeper.ts';
import type { Store } from './store.ts';
import type { PostgresEngine, PostgresEngineOptions } from '../engine/postgres/postgres-engine.ts';

type Parts = Pick<SearchHome, 'queues' | 'place'>;

interface KeptOptions
  extends
    Omit<StoreOptions, 'elsewhere' | 'queues' | 'search'>,
    Parts,
    Pick<SearchHome, 'settings'> {}

interface KeptStore {
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

interface DatabaseParts extends Pick<SearchHome, 'queues' | 'place'> {
  readonly engine: PostgresEngine;
}

/**
 * Opens the database of a store, and names the places of its queues and its search. A store that is made now gets all
 * its tables at once: later users need no right to make tables. Few processes use a database, so its modules are loaded
 * here.
 */
export async function openDatabaseParts(
  url: string,
  options: Omit<PostgresEngineOptions, 'moreTables'> = {},
): Promise<DatabaseParts> {
  const { openPostgresEngine } = await import('../engine/postgres/postgres-engine.ts');
  const { QUEUE_TABLES } = await import('../queue/postgres/tables/schema.ts');
  const { SEARCH_TABLES } = await import('../search/postgres/schema.ts');
  const { indexInDatabase } = await import('../search/postgres/index-place.ts');
  const engine = await openPostgresEngine(url, {
    ...options,
    moreTables: [QUEUE_TABLES, SEARCH_TABLES],
  });
  const { database } = engine;
  return { engine, queues: { database }, place: indexInDatabase(database) };
}
