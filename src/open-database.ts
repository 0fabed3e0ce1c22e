import { openPostgresEngine } from './engine/postgres/postgres-engine.ts';
import { createStore } from './store/create-store.ts';
import type { Store } from './store/store.ts';

export interface OpenDatabaseOptions {
  readonly create?: boolean;
  readonly clock?: () => number;
  readonly connections?: number;
  readonly cacheBytes?: number;
  readonly maxPayloadBytes?: number;
}

/**
 * Opens a PostgreSQL database as a store. Separate from `openStore`, so that opening a folder does not load its client.
 */
export async function openDatabase(url: string, options: OpenDatabaseOptions): Promise<Store> {
  const { create, clock, connections, cacheBytes, maxPayloadBytes } = options;
  const engine = await openPostgresEngine(url, {
    ...(create !== undefined && { create }),
    ...(clock !== undefined && { clock }),
    ...(connections !== undefined && { connections }),
    ...(cacheBytes !== undefined && { cacheBytes }),
  });
  return createStore(engine, {
    queues: { database: engine.database },
    ...(maxPayloadBytes !== undefined && { maxPayloadBytes }),
    ...(clock !== undefined && { clock }),
  });
}
