import { join } from 'node:path';
import { unsupported } from '../base/errors.ts';
import { QUEUE_NAME, checkQueueName, noSuchQueue } from './events/check-input.ts';
import type { OwnedQueues } from './events/queue.ts';
import { isQueueFolder, listQueueFolders, queueFolder } from './folder/queue-folder.ts';
import { SqliteQueue, type SqliteQueueOptions } from './sqlite-queue.ts';
import { createQueueFolder } from './sqlite/open-database.ts';
import { OpenLimit } from './sqlite/open-parts.ts';

/** The number of queues with a database open at a time. Other queues open theirs again when they are used. */
const OPEN_MAX = 64;

/** The queues in a folder, each in a folder of its own. */
export function createQueues(parent: string, options: SqliteQueueOptions = {}): OwnedQueues {
  const known = new Map<string, SqliteQueue>();

  const limit = new OpenLimit(OPEN_MAX);

  function use(name: string): SqliteQueue {
    const queue =
      known.get(name) ?? new SqliteQueue(queueFolder(join(parent, name)), { ...options, limit });
    known.set(name, queue);
    return queue;
  }

  return {
    async open(name, { create = true } = {}) {
      checkQueueName(name);
      const path = join(parent, name);
      if (!isQueueFolder(path)) {
        if (!create) throw noSuchQueue(name);
        createQueueFolder(path);
      }
      return use(name);
    },

    async list() {
      return listQueueFolders(parent)
        .filter((name) => QUEUE_NAME.test(name))
        .map((name) => ({ name, ...use(name).summary() }));
    },

    async work() {
      const message =
        'workers are for queues on PostgreSQL; here a push starts the handlers by itself, and `quipu queue dispatch` those that were left';
      throw unsupported('queues.work', 'queues in a folder', message);
    },

    async close() {
      await Promise.allSettled([...known.values()].map((queue) => queue.close()));
    },
  };
}
