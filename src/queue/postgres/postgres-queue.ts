import { Bell } from '../../base/bell.ts';
import { QuipuError } from '../../base/errors.ts';
import type { Database } from '../../postgres/database.ts';
import {
  checkBatch,
  checkConsumer,
  checkEvent,
  checkFence,
  checkLastEventId,
  checkPage,
  checkSubscription,
} from '../check-input.ts';
import { compileFilter } from '../filter/compile-filter.ts';
import type { Filter } from '../filter/filter.ts';
import { parseFilter } from '../filter/parse-filter.ts';
import { followEvents, untilClosed } from '../follow-events.ts';
import { PushIntake } from '../push-intake.ts';
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
} from '../queue.ts';
import { BOOKMARK_WORTH, readMatches, startFor } from '../scan.ts';
import { WakeUp } from '../wake-up.ts';
import { ConsumerTable } from './consumer-table.ts';
import { EventTable } from './event-table.ts';
import { giveTries } from './give-tries.ts';
import { postgresDialect } from './postgres-dialect.ts';
import type { QueueRings } from './queue-rings.ts';
import { readInfo } from './read-info.ts';

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
    const [id] = await this.#intake.add([checkEvent(event)]);
    if (id === undefined) throw new TypeError('an event was stored without an id');
    return id;
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
    const events = await readMatches(this.#events, toFilter(filter), { after, ...page });
    if (events.length === 0 && newest - after >= BOOKMARK_WORTH) {
      const to = { from_id: acked, to_id: newest };
      await this.#consumers.setBookmark({ consumer_id, filter }, to);
    }
    return events;
  }

  async peek(options: PeekOptions): Promise<QueueEvent[]> {
    this.#assertOpen();
    const page = checkPage(options);
    const filter = toFilter(options.filter);
    const after = checkLastEventId(options.lastEventId);
    return readMatches(this.#events, filter, { after, ...page });
  }

  async subscribe(given: NewSubscription): Promise<Subscription> {
    this.#assertOpen();
    const subscription = checkSubscription(given);
    // This throws where the filter asks for a function that this database does not have.
    if (subscription.filter !== null)
      compileFilter(parseFilter(subscription.filter), postgresDialect);
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
    return readInfo(thread, this.#events, await this.#consumers.all());
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
    return untilClosed(this.#follow(options));
  }

  async *#follow(options: QueueFollowOptions): AsyncGenerator<QueueEvent, void, undefined> {
    const filter = toFilter(options.filter);
    const bell = new Bell();
    const unlisten = this.#rings.listen((queue) => {
      if (queue === undefined || queue === this.#name) bell.ring();
    });
    const { signal = this.#ended.signal } = options;
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

function toFilter(text: string | null | undefined): Filter | undefined {
  return text === null || text === undefined ? undefined : parseFilter(text);
}
