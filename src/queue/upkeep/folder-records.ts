import { join } from 'node:path';
import type { QueueEvent } from '../events/queue.ts';
import { toQueueError } from '../folder/queue-error.ts';
import { isQueueFolder, listQueueFolders, queueFolder } from '../folder/queue-folder.ts';
import { createQueueFolder } from '../sqlite/open-database.ts';
import { QueueDatabase } from '../sqlite/queue-database.ts';
import {
  hasMoved,
  COPY_PAGE,
  type AdoptedEvents,
  type ConsumerRecord,
  type QueueRecords,
  type QueueState,
} from './queue-records.ts';
import { checkQueues, type QueueProblem } from './verify-queues.ts';

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
        consumers: readConsumers(database),
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
          const acked = consumer.progress?.last_acked_id ?? 0;
          if (database.acked(consumer.consumer_id) > acked) throw hasMoved(queue);
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

function readConsumers(database: QueueDatabase): ConsumerRecord[] {
  const subscriptions = new Map(database.subscriptions().map((row) => [row.consumer_id, row]));
  const progress = new Map(database.progress().map((row) => [row.consumer_id, row]));
  const failures = new Map(database.failures().map((row) => [row.consumer_id, row]));
  const names = [...new Set([...subscriptions.keys(), ...progress.keys()])].toSorted();
  return names.map((consumer_id) => {
    const subscribed = subscriptions.get(consumer_id);
    const acked = progress.get(consumer_id);
    const failed = failures.get(consumer_id);
    return {
      consumer_id,
      subscription: subscribed
        ? { handler_cmd: subscribed.handler_cmd, filter: subscribed.filter }
        : null,
      progress: acked ? { last_acked_id: acked.last_acked_id, updated_at: acked.updated_at } : null,
      failure: failed
        ? { failures: failed.failures, failed: failed.failed === 1, last_error: failed.last_error }
        : null,
    };
  });
}

function takeConsumer(database: QueueDatabase, consumer: ConsumerRecord): void {
  const { consumer_id, subscription, progress, failure } = consumer;
  // This also removes the bookmark of its filter and the failures of its handler.
  database.removeSubscription(consumer_id);
  if (subscription !== null) database.addSubscription({ consumer_id, ...subscription });
  if (progress !== null) {
    database.acknowledge(consumer_id, progress.last_acked_id, progress.updated_at);
  }
  if (failure === null) return;
  const { failures, failed, last_error } = failure;
  const row = { consumer_id, failures, failed: failed ? 1 : 0, last_error } as const;
  database.setFailure(row, new Date().toISOString());
}
