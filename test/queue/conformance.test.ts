import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { remoteQueues } from '../../src/client/remote-verbs.ts';
import { createQueues } from '../../src/queue/sqlite-queue.ts';
import { ModelEngine } from '../../src/testing/model-engine.ts';
import { queueSuite } from '../../src/testing/queue-suite/queue-suite.ts';
import type { OpenedQueues } from '../../src/testing/queue-suite/queue-target.ts';
import { connectTo } from '../support/serve-engine.ts';

async function openFolder(): Promise<OpenedQueues> {
  const folder = mkdtempSync(join(tmpdir(), 'quipu-queues-'));
  const queues = createQueues(folder, { wakes: false });
  const elsewhere = createQueues(folder, { wakes: false });
  return {
    queues,
    elsewhere,
    close: async () => {
      await Promise.all([queues.close(), elsewhere.close()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

queueSuite({ name: 'in a folder', open: openFolder });

for (const way of ['tcp', 'http'] as const) {
  queueSuite({
    name: `in a folder, over ${way}`,
    randomRuns: 3,
    open: async () => {
      const opened = await openFolder();
      const { queues, elsewhere } = opened;
      const engine = await connectTo(new ModelEngine(), way, { queues: { queues } });
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
}
