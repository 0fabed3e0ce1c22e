import { describe } from 'vitest';
import { remoteVerbs } from '../../src/client/remote-verbs.ts';
import { createStore } from '../../src/store/create-store.ts';
import { ModelEngine } from '../../src/testing/model-engine.ts';
import { historySuite } from '../../src/testing/workflow-suite/history.ts';
import { connectTo } from '../support/serve-engine.ts';

for (const way of ['tcp', 'http'] as const) {
  describe(`workflows over ${way}`, () => {
    historySuite({
      async open(opening = {}) {
        const engine = await connectTo(new ModelEngine(opening), way, opening);
        return {
          engine,
          store: createStore(engine, { ...opening, elsewhere: remoteVerbs(engine) }),
        };
      },
    });
  });
}
