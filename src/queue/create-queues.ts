import { join } from 'node:path';
import { QuipuError } from '../base/errors.ts';
import { QUEUE_NAME, checkQueueName } from './check-input.ts';
import { createQueueFolder, isQueueFolder, listQueueFolders, queueFolder } from './folder.ts';
import { OpenLimit } from './open-parts.ts';
import { noSuchQueue } from './queue-refusals.ts';
import type { OpenQueueOptions, Queue, QueueSummary, Queues } from './queue.ts';
import { SqliteQueue } from './sqlite-queue.ts';
import type { SqliteQueueOptions } from './sqlite-queue.ts';

/** The number of queues with a database open at a time. Other queues open theirs again when they are used. */
const OPEN_MAX = 64;

export interface OwnedQueues extends Queues {
  /** Stores what was pushed and starts the handlers that it wakes. */
  close(): Promise<void>;
}

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
    async open(name: string, { create = true }: OpenQueueOptions = {}): Promise<Queue> {
      checkQueueName(name);
      const path = join(parent, name);
      if (!isQueueFolder(path)) {
        if (!create) throw noSuchQueue(name);
        createQueueFolder(path);
      }
      return use(name);
    },

    async list(): Promise<QueueSummary[]> {
      return listQueueFolders(parent)
        .filter((name) => QUEUE_NAME.test(name))
        .map((name) => ({ name, ...use(name).summary() }));
    },

    async work(): Promise<void> {
      const message =
        'workers are for queues on PostgreSQL; here a push starts the handlers by itself, and `quipu queue dispatch` those that were left';
      throw new QuipuError('UNSUPPORTED', message, {
        what: 'queues.work',
        found: 'queues in a folder',
      });
    },

    async close(): Promise<void> {
      await Promise.allSettled([...known.values()].map((queue) => queue.close()));
    },
  };
}
