import { remoteQueues } from '../../../src/client/remote-verbs.ts';
import { Database } from '../../../src/postgres/database.ts';
import { createPostgresQueues } from '../../../src/queue/postgres/postgres-queue.ts';
import { ModelEngine } from '../../../src/testing/model-engine.ts';
import { queueSuite } from '../../../src/testing/queue-suite/queue-suite.ts';
import type { OpenedQueues } from '../../../src/testing/queue-suite/queue-target.ts';
import { connectTo } from '../../support/serve-engine.ts';
import { freshSchema } from './rig.ts';

async function openTables(): Promise<OpenedQueues> {
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
}

queueSuite({ name: 'PostgreSQL', randomRuns: 5, open: openTables });

queueSuite({
  name: 'PostgreSQL, over tcp',
  randomRuns: 2,
  open: async () => {
    const opened = await openTables();
    const { queues, elsewhere } = opened;
    const engine = await connectTo(new ModelEngine(), 'tcp', { queues: { queues } });
    return {
      queues: remoteQueues(engine),
      elsewhere,
      close: async () => {
        await engine.close();
        await opened.close();
      },
    };
  },
});
