import type { PostgresEngine, PostgresEngineOptions } from '../engine/postgres/postgres-engine.ts';
import type { SearchHome } from './search-keeper.ts';

export interface DatabaseParts extends Pick<SearchHome, 'queues' | 'place'> {
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
