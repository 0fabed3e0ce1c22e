import { join } from 'node:path';
import { checkSignal, only } from '../base/check-value.ts';
import { unsupported } from '../base/errors.ts';
import { leavable } from '../base/leavable.ts';
import { isHeld, readLock, type LockNote } from './dispatch/consumer-lock.ts';
import { SUPERVISOR, dispatch } from './dispatch/dispatch.ts';
import { isGroupRunning } from './dispatch/run-handler.ts';
import {
  checkBatch,
  checkConsumer,
  checkEvent,
  checkLastEventId,
  checkPage,
  checkSubscription,
  isSubscribed,
  noFences,
  noSubscription,
  QUEUE_NAME,
  checkQueueName,
  noSuchQueue,
  type CheckedEvent,
} from './events/check-input.ts';
import { PushIntake, WakeUp } from './events/push-intake.ts';
import type {
  DispatchReport,
  QueueFollowOptions,
  NewEvent,
  NewSubscription,
  PeekOptions,
  PopOptions,
  Queue,
  QueueEvent,
  QueueInfo,
  QueueSummary,
  Subscription,
  RunningHandler,
  OwnedQueues,
} from './events/queue.ts';
import {
  countLag,
  describeConsumers,
  followEvents,
  poll,
  untilClosed,
  BOOKMARK_WORTH,
  readMatches,
  startFor,
  type ConsumerRow,
  type Followed,
} from './events/scan.ts';
import type { CompiledFilter } from './filter/filter.ts';
import {
  inQueueWords,
  isFatal,
  toQueueError,
  isQueueFolder,
  listQueueFolders,
  queueFolder,
  type QueueFolder,
} from './sqlite/queue-folder.ts';
import { isEventDamage, type Inserted } from './sqlite/event-table.ts';
import { createQueueFolder } from './sqlite/open-database.ts';
import { OpenParts, OpenLimit, type Parts } from './sqlite/open-parts.ts';
import { compileStored, compileText, type QueueDatabase } from './sqlite/queue-database.ts';
import {
  failure,
  info,
  logUncounted,
  warn,
  type LogLine,
  type RuntimeLog,
} from './sqlite/runtime-log.ts';

const COUNT_EVERY = 64;

export interface SqliteQueueOptions {
  /** Whether a push starts handlers by itself. False for a caller that starts them in another way. Default true. */
  readonly wakes?: boolean;
  /** Called when something went wrong beside a push that succeeded. */
  readonly warn?: (text: string) => void;
  readonly now?: () => number;
  /** The program that runs handlers. */
  readonly supervisor?: string;
  /** The limit is shared with other queues. */
  readonly limit?: OpenLimit;
}

/** A queue in a folder. Any number of processes may have it open. */
export class SqliteQueue implements Queue {
  readonly folder: QueueFolder;
  readonly #parts: OpenParts;
  readonly #options: Required<Omit<SqliteQueueOptions, 'limit'>>;
  readonly #intake: PushIntake;
  readonly #wakeUp: WakeUp;
  #pushes = 0;
  #uncounted = 0;

  constructor(folder: QueueFolder, options: SqliteQueueOptions = {}) {
    this.folder = folder;
    const { limit, ...others } = options;
    this.#options = {
      wakes: true,
      warn: () => undefined,
      now: Date.now,
      supervisor: SUPERVISOR,
      ...others,
    };
    this.#parts = new OpenParts(folder, this.#options.now, limit);
    this.#intake = new PushIntake((events) => this.#store(events));
    this.#wakeUp = new WakeUp(
      () => this.dispatch(),
      (error) => this.#options.warn(`handlers were not started: ${(error as Error).message}`),
    );
  }

  async push(event: NewEvent): Promise<number> {
    return only(await this.#intake.add([checkEvent(event)]));
  }

  async pushBatch(events: readonly NewEvent[]): Promise<number[]> {
    const checked = checkBatch(events);
    return checked.length === 0 ? [] : this.#intake.add(checked);
  }

  async pop(consumer: string, options: PopOptions): Promise<QueueEvent[]> {
    const page = checkPage(options);
    if (options.fence !== undefined) throw noFences();
    return this.#inWords(async ({ database }) => {
      const name = checkConsumer(consumer);
      const { subscription, filter, acked, newest } = database.exclusively(() => {
        const found = database.subscription(name);
        if (found === undefined) throw noSubscription(name);
        const compiled = compileStored(found);
        const last = database.newestId();
        const id = checkLastEventId(options.lastEventId);
        // Nobody has handled events that are not there yet: they must wake this consumer when they come.
        database.acknowledge(name, Math.min(id, last), this.#time());
        return { subscription: found, filter: compiled, acked: id, newest: last };
      });
      const after = startFor(acked, database.known(name).bookmark);
      const events = await readMatches(database, filter, { after, ...page });
      if (events.length === 0 && newest - after >= BOOKMARK_WORTH) {
        database.setBookmark(subscription, { from_id: acked, to_id: newest });
      }
      return events;
    });
  }

  async peek(options: PeekOptions): Promise<QueueEvent[]> {
    const page = checkPage(options);
    const filter = compileText(options.filter);
    return this.#inWords(({ database }) => {
      const after = checkLastEventId(options.lastEventId);
      return readMatches(database, filter, { after, ...page });
    });
  }

  async subscribe(given: NewSubscription): Promise<Subscription> {
    const subscription = checkSubscription(given);
    return this.#inWords(async ({ database }) => {
      if (database.addSubscription(subscription)) {
        if (this.#options.wakes) this.#wakeUp.ask();
        return subscription;
      }
      throw isSubscribed(subscription.consumer_id);
    });
  }

  async unsubscribe(consumer: string): Promise<void> {
    const name = checkConsumer(consumer);
    return this.#inWords(async ({ database }) => {
      if (!database.removeSubscription(name)) throw noSubscription(name);
    });
  }

  info(): Promise<QueueInfo> {
    return this.#inWords(async ({ database }) => {
      const consumers = await describeConsumers(database.consumers(), async (row) => {
        const note = readLock(this.folder, row.consumer_id);
        const handler = runningHandler(note);
        const isRunning = isHeld(note) || handler !== undefined;
        return { lag: await lagOf(database, row), isRunning, handler };
      });
      return {
        thread: this.folder.path,
        event_count: database.countEvents(),
        last_event_id: database.newestId(),
        ...consumers,
      };
    });
  }

  dispatch(): Promise<DispatchReport> {
    const { supervisor } = this.#options;
    return this.#inWords(({ database, log }) =>
      dispatch({ folder: this.folder, database, log, supervisor }),
    );
  }

  /**
   * Returns whether there is a consumer whose handler does not run. A running handler's supervisor looks again before
   * it releases the lock.
   */
  hasIdleConsumers(): boolean {
    return inQueueWords(this.folder.path, () => {
      const consumers = this.#parts.get().database.subscriptions();
      return consumers.some(({ consumer_id }) => !isHeld(readLock(this.folder, consumer_id)));
    });
  }

  follow(options: QueueFollowOptions = {}): AsyncIterable<QueueEvent> {
    const filter = compileText(options.filter);
    const followed: Followed<CompiledFilter> = {
      use: (read) => this.#inWords(({ database }) => read(database)),
      watch: () => poll,
    };
    return leavable(checkSignal(options.signal), (signal) =>
      untilClosed(followEvents(followed, filter, { ...options, signal })),
    );
  }

  summary(): Omit<QueueSummary, 'name'> {
    return inQueueWords(this.folder.path, () => {
      const { database } = this.#parts.get();
      return {
        event_count: database.countEvents(),
        last_event_id: database.newestId(),
        subscriptions: database.subscriptions().length,
      };
    });
  }

  /** Counts and writes lines in the queue's log. */
  log(...lines: readonly LogLine[]): void {
    this.#withLog((log) => log.write(...lines));
  }

  #withLog(work: (log: RuntimeLog) => void): void {
    try {
      work(this.#parts.get().log);
    } catch {
      // Without the folder there is no log.
    }
  }

  /** Stores what was pushed, starts the handlers that it wakes, and closes. Later calls throw CLOSED. */
  async close(): Promise<void> {
    await this.#intake.flush();
    await this.#wakeUp.settled();
    if (this.#uncounted > 0) this.#withLog((log) => log.count(this.#uncounted));
    this.#uncounted = 0;
    this.#parts.end();
  }

  #time(): string {
    return new Date(this.#options.now()).toISOString();
  }

  #store(events: readonly CheckedEvent[]): number[] {
    try {
      const { database, log, mirror } = this.#parts.get();
      const created_at = this.#time();
      // Counting the log's lines costs a page. The first push of a process counts, and later one push counts for
      // several.
      this.#uncounted += 1;
      const counted = this.#pushes % COUNT_EVERY === 0 ? this.#uncounted : 0;
      const stored = database.insert(events, created_at, counted);
      this.#pushes += 1;
      this.#uncounted -= counted;
      // From here on the events are stored, whatever happens to the files that people read.
      log.writeLater(pushedLine(events, stored));
      try {
        mirror.catchUp(stored);
      } catch (error) {
        const text = `events.jsonl is behind, and is caught up with the next push: ${(error as Error).message}`;
        log.write(warn(`push: ${text}`));
        this.#options.warn(text);
      }
      if (this.#options.wakes && database.hasSubscriptions()) this.#wakeUp.ask();
      return events.map((_, at) => stored.firstId + at);
    } catch (error) {
      throw this.#inTheLog(error);
    }
  }

  async #inWords<T>(work: (parts: Parts) => Promise<T>): Promise<T> {
    try {
      return await this.#parts.use(work);
    } catch (error) {
      if (!isEventDamage(error) || !this.#parts.mend()) throw this.#inTheLog(error);
      return this.#inWords(work);
    }
  }

  /** An error that stops SQLite is also written to the log. */
  #inTheLog(error: unknown): Error {
    const told = toQueueError(error, this.folder.path);
    if (isFatal(told)) {
      logUncounted(this.folder, failure(`SQLite: ${told.message}`), this.#options.now());
    }
    return told;
  }
}

function pushedLine(
  events: readonly CheckedEvent[],
  { firstId, lastId }: Pick<Inserted, 'firstId' | 'lastId'>,
): LogLine {
  const [first] = events;
  if (first !== undefined && events.length === 1) {
    const subtype = first.subtype === null ? '' : ` subtype=${first.subtype}`;
    return info(`push: source=${first.source} type=${first.type}${subtype} id=${firstId}`);
  }
  return info(`push: events=${events.length} id=${firstId}-${lastId}`);
}

/** Null without a subscription. A filter that cannot be read counts nothing; pop and dispatch report it. */
async function lagOf(database: QueueDatabase, row: ConsumerRow): Promise<number | null> {
  if (row.handler_cmd === null) return null;
  try {
    return await countLag(database, compileStored(row), database.known(row.consumer_id));
  } catch {
    return null;
  }
}

/** Also finds a handler whose supervisor was killed. */
function runningHandler(note: LockNote | undefined): RunningHandler | undefined {
  if (note?.handler === undefined || !isGroupRunning(note.handler)) return undefined;
  return { pid: note.handler.pid, since: note.handler.since };
}

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
