import { openStore } from '../../src/open-store.ts';
import { checkpointSuite } from '../support/checkpoint-suite.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';

checkpointSuite('PostgreSQL', async () => {
  const url = await freshDatabase();
  return { store: await openStore(url), again: () => openStore(url) };
});
