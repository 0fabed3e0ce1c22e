import { afterAll } from 'vitest';
import { CAPABILITIES } from '../../src/engine/postgres/postgres-engine.ts';
import { engineSuite } from '../../src/testing/engine-suite/engine-suite.ts';
import { clientSuites } from '../support/client-suites.ts';
import { PostgresServer } from '../support/postgres/postgres-server.ts';
import { StoreSchemas } from '../support/postgres/store-schemas.ts';

// All suites through a client and a server, and many more random cases, on a PostgreSQL of their own.

const server = await PostgresServer.start();
afterAll(() => server.dispose());
const schemas = new StoreSchemas(server.createDatabase());

clientSuites('PostgreSQL', 'tcp', (opening) => schemas.open(opening));

engineSuite({
  name: 'postgres',
  capabilities: CAPABILITIES,
  randomRuns: 40,
  open: (opening) => schemas.open(opening),
  reopen: (engine, opening) => schemas.reopen(engine, opening),
});
