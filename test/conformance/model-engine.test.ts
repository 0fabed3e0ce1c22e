import { engineSuite } from '../../src/testing/engine-suite/engine-suite.ts';
import { ModelEngine } from '../../src/testing/model-engine.ts';

engineSuite({
  name: 'model',
  capabilities: new ModelEngine().capabilities,
  open: async (opening = {}) => new ModelEngine(opening),
  reopen: async (engine, opening = {}) => {
    if (!(engine instanceof ModelEngine))
      throw new TypeError('expected the engine that was opened');
    return new ModelEngine({ ...opening, state: engine.state });
  },
});
