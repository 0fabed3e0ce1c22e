import { StoreSchemas } from '../support/postgres/store-schemas.ts';
import { clientSuites } from '../support/client-suites.ts';

const schemas = new StoreSchemas();

clientSuites('PostgreSQL', 'tcp', (opening) => schemas.open(opening), 1);
