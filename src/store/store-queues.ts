import { QuipuError } from '../base/errors.ts';
import { firstUse, loadedOnUse } from '../base/first-use.ts';
import type { Lifetime } from '../base/lifetime.ts';
import type { Database } from '../postgres/database.ts';
import type { OwnedQueues, Queues } from '../queue/events/queue.ts';

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
  const queues = place && firstUse(() => openQueues(place, lifetime));
  return loadedOnUse(
    async (method: string) => {
      const what = `queues.${method}`;
      lifetime.assertOpen(what);
      if (queues !== undefined) return queues();
      const message = `${what}: queues live in a folder, and this store has none; open one by its path`;
      throw new QuipuError('UNSUPPORTED', message, { what: 'queues', found: 'a store in memory' });
    },
    ['open', 'list', 'work'],
  );
}

async function openQueues(place: QueuesPlace, lifetime: Lifetime): Promise<Queues> {
  if ('queues' in place) return place.queues;
  const queues = await create(place);
  lifetime.onClose(() => queues.close());
  return queues;
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
