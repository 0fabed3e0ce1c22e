import type { Database } from '../../postgres/database.ts';
import { migrate } from '../../postgres/migrate.ts';
import { checkQueueName, checkWork, noSuchQueue } from '../events/check-input.ts';
import type { OwnedQueues, QueueSummary } from '../events/queue.ts';
import { PostgresQueue } from './postgres-queue.ts';
import { QueueRings } from './tables/queue-rings.ts';
import { QUEUE_TABLES } from './tables/schema.ts';

const IS_THERE = { name: 'queue-is-there', text: 'SELECT FROM quipu.queues WHERE queue = $1' };
/** A queue that exists is only looked at, so that a database that takes no writes can be read. */
const CREATE = {
  name: 'queue-create',
  text: `INSERT INTO quipu.queues (queue) SELECT $1 WHERE NOT EXISTS (SELECT FROM quipu.queues WHERE queue = $1)
    ON CONFLICT DO NOTHING`,
};
const LIST = `SELECT queue AS name, last_id AS event_count, last_id AS last_event_id,
    (SELECT count(*) FROM quipu.queue_consumers AS consumer
     WHERE consumer.queue = queues.queue AND handler_cmd IS NOT NULL) AS subscriptions
  FROM quipu.queues ORDER BY queue`;

/** The queues of a database. The database stays the caller's. The first use creates the tables. */
export function createPostgresQueues(database: Database): OwnedQueues {
  const known = new Map<string, PostgresQueue>();
  const rings = new QueueRings(database);
  const ended = new AbortController();
  const workers = new Set<Promise<void>>();
  let ready: Promise<unknown> | undefined;

  async function prepare(): Promise<void> {
    ready ??= migrate(database, QUEUE_TABLES);
    try {
      await ready;
    } catch (error) {
      // The next call tries again.
      ready = undefined;
      throw error;
    }
  }

  async function mustExist(name: string): Promise<void> {
    const found = await database.query(IS_THERE, [name]);
    if (found.length === 0) throw noSuchQueue(name);
  }

  function use(name: string): PostgresQueue {
    const queue = known.get(name) ?? new PostgresQueue(name, database, rings);
    known.set(name, queue);
    return queue;
  }

  return {
    async open(name, { create = true } = {}) {
      checkQueueName(name);
      await prepare();
      if (create) await database.query(CREATE, [name]);
      else await mustExist(name);
      return use(name);
    },

    async list() {
      await prepare();
      return [...(await database.query<QueueSummary>(LIST))];
    },

    async work(options = {}) {
      const checked = checkWork(options);
      await prepare();
      for (const name of checked.queues ?? []) await mustExist(name);
      const { Worker } = await import('./work/worker.ts');
      const { LeaseTable } = await import('./work/lease-table.ts');
      const signal = AbortSignal.any([checked.signal, ended.signal]);
      const leases = new LeaseTable(database);
      const working = new Worker({ database, rings, leases }, { ...checked, signal }).run();
      workers.add(working);
      await working.finally(() => workers.delete(working));
    },

    async close() {
      ended.abort();
      await Promise.allSettled(workers);
      await Promise.allSettled([...known.values()].map((queue) => queue.close()));
      await rings.close();
    },
  };
}
