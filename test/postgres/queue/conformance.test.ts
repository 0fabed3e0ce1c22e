import { Database } from '../../../src/postgres/database.ts';
import { createPostgresQueues } from '../../../src/queue/postgres/create-postgres-queues.ts';
import { queueSuite } from '../../../src/testing/queue-suite/queue-suite.ts';
import { freshSchema } from './rig.ts';

queueSuite({
  name: 'PostgreSQL',
  randomRuns: 10,
  open: async () => {
    const url = await freshSchema();
    const one = new Database(url);
    const other = new Database(url);
    const queues = createPostgresQueues(one);
    const elsewhere = createPostgresQueues(other);
    return {
      queues,
      elsewhere,
      close: async () => {
        await Promise.all([queues.close(), elsewhere.close()]);
        await Promise.all([one.close(), other.close()]);
      },
    };
  },
});
