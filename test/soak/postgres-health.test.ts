import { afterAll } from 'vitest';
import { underLoadSuite } from '../../src/testing/health-suite/under-load.ts';
import { PostgresServer } from '../support/postgres/postgres-server.ts';
import { postgresTarget } from '../support/postgres/postgres-target.ts';
import { StoreSchemas } from '../support/postgres/store-schemas.ts';

const server = await PostgresServer.start();
afterAll(() => server.dispose());

underLoadSuite(postgresTarget(new StoreSchemas(server.createDatabase())), 300_000);
