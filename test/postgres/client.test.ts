import { createStore } from '../../src/store/create-store.ts';
import { remoteVerbs } from '../../src/client/remote-verbs.ts';
import { contextsSuite } from '../../src/testing/contexts-suite/contexts-suite.ts';
import { StoreSchemas } from '../support/postgres/store-schemas.ts';
import { connectTo } from '../support/serve-engine.ts';

const schemas = new StoreSchemas();

contextsSuite({
  name: 'PostgreSQL behind a server',
  randomRuns: 1,
  open: async (options) => {
    const engine = await connectTo(await schemas.open(), 'tcp');
    return createStore(engine, { ...options, elsewhere: remoteVerbs(engine) });
  },
});
