import { openStore } from '../../src/open-store.ts';
import { adapterSuites } from '../support/adapter-suites.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';

adapterSuites('PostgreSQL', async () => openStore(await freshDatabase()));
