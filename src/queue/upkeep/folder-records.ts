import { join } from 'node:path';
import type { ConsumerRow } from '../events/scan.ts';
import type { QueueEvent } from '../events/queue.ts';
import {
  toQueueError,
  isQueueFolder,
  listQueueFolders,
  queueFolder,
} from '../sqlite/queue-folder.ts';
import { createQueueFolder } from '../sqlite/open-database.ts';
import { QueueDatabase } from '../sqlite/queue-database.ts';
import {
  hasMoved,
  COPY_PAGE,
  type AdoptedEvents,
  type QueueRecords,
  type QueueState,
} from './queue-records.ts';
import { checkQueues, type QueueProblem } from './queue-health.ts';

/** The queues in a folder, for a copy. This class has one database open at a time. */
export class FolderRecords implements QueueRecords {
  readonly #parent: string;
  #open: { readonly queue: string; readonly database: QueueDatabase } | undefined;

  constructor(parent: string) {
    this.#parent = parent;
  }

  async names(): Promise<readonly string[]> {
    return listQueueFolders(this.#parent);
  }

  async state(queue: string): Promise<QueueState | undefined> {
    if (!isQueueFolder(join(this.#parent, queue))) return undefined;
    return this.#use(queue, (database) =>
      database.exclusively(() => ({
        lastId: database.newestId(),
        count: database.countEvents(),
        consumers: database.consumers(),
      })),
    );
  }

  async events(queue: string, after: number): Promise<readonly QueueEvent[]> {
    return this.#use(queue, (database) =>
      database.rows({ after, through: database.newestId() }, COPY_PAGE.limit, COPY_PAGE.maxBytes),
    );
  }

  /** A folder accepts every queue, whatever its name is and whichever events were deleted by hand. */
  assertFits(): void {}

  async adoptEvents(queue: string, { after, events, lastId }: AdoptedEvents): Promise<void> {
    const path = join(this.#parent, queue);
    createQueueFolder(path);
    return this.#use(queue, (database) => {
      database.exclusively(() => {
        if (database.newestId() !== after) throw hasMoved(queue);
        database.adopt(events, lastId);
      });
    });
  }

  async adoptConsumers(queue: string, { lastId, consumers }: QueueState): Promise<void> {
    return this.#use(queue, (database) => {
      database.exclusively(() => {
        if (database.newestId() !== lastId) throw hasMoved(queue);
        for (const consumer of consumers) {
          const { consumer_id, last_acked_id } = consumer;
          if (database.known(consumer_id).acked > last_acked_id) throw hasMoved(queue);
          takeConsumer(database, consumer);
        }
      });
    });
  }

  async check(): Promise<readonly QueueProblem[]> {
    return checkQueues(this.#parent);
  }

  close(): void {
    this.#open?.database.close();
    this.#open = undefined;
  }

  async #use<T>(queue: string, work: (database: QueueDatabase) => T | Promise<T>): Promise<T> {
    const { path, database } = queueFolder(join(this.#parent, queue));
    try {
      if (this.#open?.queue !== queue) {
        this.close();
        this.#open = { queue, database: new QueueDatabase(database) };
      }
      return await work(this.#open.database);
    } catch (error) {
      throw toQueueError(error, path);
    }
  }
}

function takeConsumer(database: QueueDatabase, consumer: ConsumerRow): void {
  const { consumer_id, handler_cmd, filter, last_acked_id, updated_at } = consumer;
  // This also removes the bookmark of its filter and the failures of its handler.
  database.removeSubscription(consumer_id);
  if (handler_cmd !== null) database.addSubscription({ consumer_id, handler_cmd, filter });
  if (updated_at !== null) database.acknowledge(consumer_id, last_acked_id, updated_at);
  if (consumer.last_error !== null) database.setFailure(consumer, new Date().toISOString());
}
