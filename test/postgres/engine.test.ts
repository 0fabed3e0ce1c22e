import { CAPABILITIES } from '../../src/engine/postgres/postgres-engine.ts';
import { engineSuite } from '../../src/testing/engine-suite/engine-suite.ts';
import { StoreSchemas } from '../support/postgres/store-schemas.ts';

const schemas = new StoreSchemas();

engineSuite({
  name: 'postgres',
  capabilities: CAPABILITIES,
  randomRuns: 1,
  open: (opening) => schemas.open(opening),
  reopen: (engine, opening) => schemas.reopen(engine, opening),
});
