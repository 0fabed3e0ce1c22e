import type { Engine } from '../../src/engine/engine.ts';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';
import { contextsSuite } from '../../src/testing/contexts-suite/contexts-suite.ts';
import { StoreSchemas } from '../support/postgres/store-schemas.ts';

const schemas = new StoreSchemas();
const engines = new WeakMap<Store, Engine>();

function storeOver(engine: Engine, options: { maxPayloadBytes?: number } = {}): Store {
  const store = createStore(engine, options);
  engines.set(store, engine);
  return store;
}

contextsSuite({
  name: 'PostgreSQL',
  randomRuns: 1,
  open: async (options) => storeOver(await schemas.open(), options),
  reopen: async (store) => storeOver(await schemas.reopen(engines.get(store)!)),
});
