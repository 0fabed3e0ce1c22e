import { Bell } from '../../base/bell.ts';
import { checkSignal, only } from '../../base/check-value.ts';
import { QuipuError } from '../../base/errors.ts';
import { leavable } from '../../base/leavable.ts';
import type { Database } from '../../postgres/database.ts';
import { migrate } from '../../postgres/migrate.ts';
import {
  checkBatch,
  checkConsumer,
  checkEvent,
  checkFence,
  checkLastEventId,
  checkPage,
  checkSubscription,
  checkQueueName,
  checkWork,
  noSuchQueue,
} from '../events/check-input.ts';
import { PushIntake, WakeUp } from '../events/push-intake.ts';
import type {
  DispatchReport,
  NewEvent,
  NewSubscription,
  PeekOptions,
  PopOptions,
  Queue,
  QueueEvent,
  QueueFollowOptions,
  QueueInfo,
  Subscription,
  OwnedQueues,
  QueueSummary,
} from '../events/queue.ts';
import {
  countLag,
  describeConsumers,
  followEvents,
  untilClosed,
  BOOKMARK_WORTH,
  readMatches,
  startFor,
  findPending,
} from '../events/scan.ts';
import { compileFilter } from '../filter/filter.ts';
import { readFilter } from '../filter/parse-filter.ts';
import { ConsumerTable, bookmarkOf, knownOf } from './tables/consumer-table.ts';
import { EventTable, QueueRings } from './tables/event-table.ts';
import { postgresDialect, QUEUE_TABLES } from './tables/schema.ts';

/** The number of events that one transaction gathers from waiting pushes. */
const GROUP_EVENTS_MAX = 5000;
/** A follower may miss an event whose ring was lost for this long. */
const LOOK_MS = 2000;

/** A queue in tables. Any number of processes on any number of machines may use it. */
class PostgresQueue implements Queue {
  readonly #name: string;
  readonly #database: Database;
  readonly #rings: QueueRings;
  readonly #events: EventTable;
  readonly #consumers: ConsumerTable;
  readonly #intake: PushIntake;
  readonly #ringing: WakeUp;
  readonly #ended = new AbortController();

  constructor(name: string, database: Database, rings: QueueRings) {
    this.#name = name;
    this.#database = database;
    this.#rings = rings;
    this.#events = new EventTable(database, name);
    this.#consumers = new ConsumerTable(database, name);
    this.#intake = new PushIntake(async (events) => {
      const ids = await this.#events.insert(events);
      this.#ringing.ask();
      return ids;
    }, GROUP_EVENTS_MAX);
    // Followers and workers look by themselves, which makes up for a ring that fails.
    this.#ringing = new WakeUp(
      () => rings.ring(name),
      () => undefined,
    );
  }

  async push(event: NewEvent): Promise<number> {
    this.#assertOpen();
    return only(await this.#intake.add([checkEvent(event)]));
  }

  async pushBatch(events: readonly NewEvent[]): Promise<number[]> {
    this.#assertOpen();
    const checked = checkBatch(events);
    return checked.length === 0 ? [] : this.#intake.add(checked);
  }

  async pop(consumer: string, options: PopOptions): Promise<QueueEvent[]> {
    this.#assertOpen();
    const page = checkPage(options);
    const consumer_id = checkConsumer(consumer);
    const acked = checkLastEventId(options.lastEventId);
    const fence = checkFence(options.fence);
    const row = await this.#consumers.acknowledge(consumer_id, acked, fence);
    const { filter, last_id: newest } = row;
    const after = startFor(acked, bookmarkOf(row));
    const events = await readMatches(this.#events, readFilter(filter), { after, ...page });
    if (events.length === 0 && newest - after >= BOOKMARK_WORTH) {
      const to = { from_id: acked, to_id: newest };
      await this.#consumers.setBookmark({ consumer_id, filter }, to);
    }
    return events;
  }

  async peek(options: PeekOptions): Promise<QueueEvent[]> {
    this.#assertOpen();
    const page = checkPage(options);
    const filter = readFilter(options.filter);
    const after = checkLastEventId(options.lastEventId);
    return readMatches(this.#events, filter, { after, ...page });
  }

  async subscribe(given: NewSubscription): Promise<Subscription> {
    this.#assertOpen();
    const subscription = checkSubscription(given);
    // This throws where the filter asks for a function that this database does not have.
    const filter = readFilter(subscription.filter);
    if (filter !== undefined) compileFilter(filter, postgresDialect);
    await this.#consumers.subscribe(subscription);
    this.#ringing.ask();
    return subscription;
  }

  async unsubscribe(consumer: string): Promise<void> {
    this.#assertOpen();
    await this.#consumers.unsubscribe(checkConsumer(consumer));
  }

  async info(): Promise<QueueInfo> {
    this.#assertOpen();
    const thread = `${this.#database.name}#${this.#name}`;
    const rows = await this.#consumers.all();
    const newest = await this.#events.newestId();
    const consumers = await describeConsumers(rows, async (row) => ({
      lag:
        row.handler_cmd === null
          ? null
          : await countLag(this.#events, readFilter(row.filter), knownOf(row)),
      isRunning: row.leased,
    }));
    // Ids have no gaps, and nothing deletes events.
    return { thread, event_count: newest, last_event_id: newest, ...consumers };
  }

  async dispatch(): Promise<DispatchReport> {
    this.#assertOpen();
    const skipped: { consumer: string; reason: string }[] = [];
    for (const row of await this.#consumers.all()) {
      if (row.handler_cmd === null) continue;
      const filter = readFilter(row.filter);
      const all = { reach: Infinity };
      const { first } = await findPending(this.#events, filter, knownOf(row), all);
      if (first === undefined) continue;
      const reason = row.leased ? 'lock held' : 'left to the workers: quipu queue work';
      skipped.push({ consumer: row.consumer_id, reason });
    }
    // Workers may try these consumers, whatever their earlier runs did.
    await this.#consumers.forgive(skipped.map(({ consumer }) => consumer));
    if (skipped.length > 0) await this.#rings.ring(this.#name);
    return { started: [], skipped };
  }

  follow(options: QueueFollowOptions = {}): AsyncIterable<QueueEvent> {
    this.#assertOpen();
    return leavable(checkSignal(options.signal), (signal) =>
      untilClosed(this.#follow(options, signal)),
    );
  }

  async *#follow(
    options: QueueFollowOptions,
    signal: AbortSignal,
  ): AsyncGenerator<QueueEvent, void, undefined> {
    const filter = readFilter(options.filter);
    const bell = new Bell();
    const unlisten = this.#rings.listen((queue) => {
      if (queue === undefined || queue === this.#name) bell.ring();
    });
    const either = AbortSignal.any([signal, this.#ended.signal]);
    try {
      const watch = () => (): Promise<void> => bell.wait(LOOK_MS, either);
      yield* followEvents({ use: (read) => read(this.#events), watch }, filter, {
        ...options,
        signal: either,
      });
    } finally {
      unlisten();
    }
  }

  /** Stores what was pushed and rings. Later calls throw CLOSED. */
  async close(): Promise<void> {
    await this.#intake.flush();
    this.#ended.abort();
    await this.#ringing.settled();
  }

  #assertOpen(): void {
    if (!this.#ended.signal.aborted) return;
    const what = `queue ${this.#name}`;
    throw new QuipuError('CLOSED', `${what} is closed`, { what });
  }
}

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
      const { LeaseTable } = await import('./tables/consumer-table.ts');
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
