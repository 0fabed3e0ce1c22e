import { QuipuError } from '../base/errors.ts';
import type { Lifetime } from '../base/lifetime.ts';
import type { OwnedQueues } from '../queue/events/queue.ts';
import type { Database } from '../postgres/database.ts';
import type {
  OpenQueueOptions,
  Queue,
  QueueSummary,
  Queues,
  WorkOptions,
} from '../queue/events/queue.ts';

/**
 * The place of the queues: a folder or a database, which any number of processes may use at once, or the process that
 * keeps the store. The database belongs to its owner, who closes it after the store has closed the queues.
 */
export type QueuesPlace =
  | { readonly folder: string }
  | { readonly database: Database }
  | { readonly queues: Queues };

/** Undefined when the queues are not in a folder at hand. */
export function folderOf(place: QueuesPlace | undefined): string | undefined {
  return place !== undefined && 'folder' in place ? place.folder : undefined;
}

/** The queues of a store. Their modules are loaded with the first queue. */
export function storeQueues(place: QueuesPlace | undefined, lifetime: Lifetime): Queues {
  let owned: Promise<OwnedQueues> | undefined;

  async function load(at: Exclude<QueuesPlace, { queues: Queues }>): Promise<OwnedQueues> {
    const queues = await create(at);
    lifetime.onClose(() => queues.close());
    return queues;
  }

  async function queues(what: string): Promise<Queues> {
    lifetime.assertOpen(what);
    if (place === undefined) {
      const message = `${what}: queues live in a folder, and this store has none; open one by its path`;
      throw new QuipuError('UNSUPPORTED', message, { what: 'queues', found: 'a store in memory' });
    }
    if ('queues' in place) return place.queues;
    owned ??= load(place);
    return owned;
  }

  return {
    async open(name: string, options?: OpenQueueOptions): Promise<Queue> {
      return (await queues('queues.open')).open(name, options);
    },
    async list(): Promise<QueueSummary[]> {
      return (await queues('queues.list')).list();
    },
    async work(options?: WorkOptions): Promise<void> {
      await (await queues('queues.work')).work(options);
    },
  };
}

async function create(
  place: { readonly folder: string } | { readonly database: Database },
): Promise<OwnedQueues> {
  if ('folder' in place) {
    const { createQueues } = await import('../queue/create-queues.ts');
    return createQueues(place.folder);
  }
  const { createPostgresQueues } = await import('../queue/postgres/create-postgres-queues.ts');
  return createPostgresQueues(place.database);
}
