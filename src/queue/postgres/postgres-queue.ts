import { Bell } from '../../base/bell.ts';
import { checkSignal, only } from '../../base/check-value.ts';
import { QuipuError } from '../../base/errors.ts';
import { leavable } from '../../base/leavable.ts';
import type { Database } from '../../postgres/database.ts';
import {
  checkBatch,
  checkConsumer,
  checkEvent,
  checkFence,
  checkLastEventId,
  checkPage,
  checkSubscription,
} from '../events/check-input.ts';
import { countLag, describeConsumers } from '../events/consumer-row.ts';
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
} from '../events/queue.ts';
import {
  followEvents,
  untilClosed,
  BOOKMARK_WORTH,
  readMatches,
  startFor,
  findPending,
} from '../events/scan.ts';
import { compileFilter } from '../filter/compile-filter.ts';
import { readFilter } from '../filter/parse-filter.ts';
import { ConsumerTable, knownOf, type LeasableRow } from './tables/consumer-table.ts';
import { EventTable } from './tables/event-table.ts';
import { postgresDialect } from './tables/postgres-dialect.ts';
import type { QueueRings } from './tables/queue-rings.ts';

/** The number of events that one transaction gathers from waiting pushes. */
const GROUP_EVENTS_MAX = 5000;
/** A follower may miss an event whose ring was lost for this long. */
const LOOK_MS = 2000;

/** A queue in tables. Any number of processes on any number of machines may use it. */
export class PostgresQueue implements Queue {
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
    const { filter, bookmark, newest } = await this.#consumers.acknowledge(
      consumer_id,
      acked,
      fence,
    );
    const after = startFor(acked, bookmark);
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
    const rows = await this.#consumers.all();
    const skipped = await giveTries({
      database: this.#database,
      queue: this.#name,
      events: this.#events,
      rows,
    });
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

const FORGIVE = `UPDATE quipu.queue_consumers SET retry_at = NULL, waits_after = 0
  WHERE queue = $1 AND consumer_id = ANY($2)`;

/**
 * Lets workers try every consumer that has something to handle, whatever its earlier runs did. Returns these consumers.
 */
async function giveTries(given: {
  readonly database: Database;
  readonly queue: string;
  readonly events: EventTable;
  readonly rows: readonly LeasableRow[];
}): Promise<DispatchReport['skipped']> {
  const { database, queue, events, rows } = given;
  const found: { consumer: string; reason: string }[] = [];
  for (const row of rows) {
    if (row.handler_cmd === null) continue;
    const { first } = await findPending(events, readFilter(row.filter), knownOf(row), {
      reach: Infinity,
    });
    if (first === undefined) continue;
    const reason = row.leased ? 'lock held' : 'left to the workers: quipu queue work';
    found.push({ consumer: row.consumer_id, reason });
  }
  if (found.length === 0) return found;
  await database.query(FORGIVE, [queue, found.map(({ consumer }) => consumer)]);
  return found;
}
