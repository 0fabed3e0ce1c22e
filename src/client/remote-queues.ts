import { setTimeout } from 'node:timers/promises';
import { QuipuError } from '../base/errors.ts';
import type {
  DispatchReport,
  NewEvent,
  NewSubscription,
  OpenQueueOptions,
  PeekOptions,
  PopOptions,
  Queue,
  QueueEvent,
  QueueFollowOptions,
  QueueInfo,
  QueueSummary,
  Queues,
  Subscription,
} from '../queue/queue.ts';
import type { RemoteEngine } from './remote-engine.ts';

/** The interval at which a remote follower looks for new events. */
const POLL_MS = 250;

type Asker = Pick<RemoteEngine, 'ask' | 'tell'>;

/** The queues of a server. A push is sent once: when its answer is lost, its outcome is unknown. */
export function remoteQueues(engine: Asker): Queues {
  return {
    async open(name: string, { create = true }: OpenQueueOptions = {}): Promise<Queue> {
      // Creating a queue that exists does nothing, so the call may be repeated.
      await engine.ask(create ? 'queues.create' : 'queues.info', [name]);
      return new RemoteQueue(engine, name);
    },
    async list(): Promise<QueueSummary[]> {
      return engine.ask('queues.list', []);
    },
    async work(): Promise<void> {
      const message =
        'a client runs no handlers; open the postgres:// address of the database where they are to run';
      throw new QuipuError('UNSUPPORTED', message, {
        what: 'queues.work',
        found: 'queues of a server',
      });
    },
  };
}

class RemoteQueue implements Queue {
  readonly #engine: Asker;
  readonly #name: string;

  constructor(engine: Asker, name: string) {
    this.#engine = engine;
    this.#name = name;
  }

  async push(event: NewEvent): Promise<number> {
    return this.#engine.tell('queues.push', [this.#name, event]);
  }

  async pushBatch(events: readonly NewEvent[]): Promise<number[]> {
    return this.#engine.tell('queues.pushBatch', [this.#name, events]);
  }

  async pop(consumer: string, options: PopOptions): Promise<QueueEvent[]> {
    // Repeating an acknowledgement changes nothing.
    return this.#engine.ask('queues.pop', [this.#name, consumer, options]);
  }

  async peek(options: PeekOptions): Promise<QueueEvent[]> {
    return this.#engine.ask('queues.peek', [this.#name, options]);
  }

  async subscribe(subscription: NewSubscription): Promise<Subscription> {
    return this.#engine.tell('queues.subscribe', [this.#name, subscription]);
  }

  async unsubscribe(consumer: string): Promise<void> {
    await this.#engine.tell('queues.unsubscribe', [this.#name, consumer]);
  }

  async info(): Promise<QueueInfo> {
    return this.#engine.ask('queues.info', [this.#name]);
  }

  async dispatch(): Promise<DispatchReport> {
    return this.#engine.ask('queues.dispatch', [this.#name]);
  }

  async *follow(options: QueueFollowOptions = {}): AsyncGenerator<QueueEvent, void, undefined> {
    const { signal, filter } = options;
    let lastEventId = options.lastEventId ?? 0;
    const isOver = (): boolean => signal?.aborted === true;
    while (!isOver()) {
      const events = await this.peek({ lastEventId, ...(filter !== undefined && { filter }) });
      for (const event of events) {
        if (isOver()) return;
        yield event;
        lastEventId = event.id;
      }
      if (events.length > 0) continue;
      try {
        await setTimeout(POLL_MS, undefined, signal === undefined ? {} : { signal });
      } catch {
        // The caller aborted.
        return;
      }
    }
  }
}
