import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';
import { contextsSuite } from '../../src/testing/contexts-suite/contexts-suite.ts';
import { ModelEngine } from '../../src/testing/model-engine.ts';

const engines = new WeakMap<Store, ModelEngine>();

function openOver(engine: ModelEngine, options: { maxPayloadBytes?: number } = {}): Store {
  const store = createStore(engine, options);
  engines.set(store, engine);
  return store;
}

contextsSuite({
  name: 'the model engine',
  open: async (options) => openOver(new ModelEngine(), options),
  reopen: async (store) => openOver(new ModelEngine({ state: engines.get(store)!.state })),
});
