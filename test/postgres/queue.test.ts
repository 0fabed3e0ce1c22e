import { Database } from '../../src/postgres/database.ts';
import { createPostgresQueues } from '../../src/queue/postgres/create-postgres-queues.ts';
import { queueSuite } from '../../src/testing/queue-suite/queue-suite.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';

const url = freshDatabase();
let schemas = 0;

queueSuite({
  name: 'PostgreSQL',
  randomRuns: 10,
  open: async () => {
    schemas += 1;
    const address = new URL(await url);
    address.searchParams.set('schema', `test_${schemas}`);
    const databases = [new Database(address.href), new Database(address.href)] as const;
    const [queues, elsewhere] = [
      createPostgresQueues(databases[0]),
      createPostgresQueues(databases[1]),
    ];
    return {
      queues,
      elsewhere,
      close: async () => {
        await Promise.all([queues.close(), elsewhere.close()]);
        await Promise.all(databases.map((database) => database.close()));
      },
    };
  },
});
