import { openStore } from '../../src/open-store.ts';
import { conversationSuite } from '../support/conversation-suite.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';

conversationSuite('PostgreSQL', async () => openStore(await freshDatabase()));
