import { setTimeout } from 'node:timers/promises';
import { checkLastEventId } from './check-input.ts';
import type { CompiledFilter } from './filter/compile-filter.ts';
import type { QueueFollowOptions, QueueEvent } from './queue.ts';
import { readMatches } from './scan.ts';
import type { QueueDatabase } from './sqlite/queue-database.ts';

/** How soon an event that another process pushed is seen. */
const POLL_MS = 100;
const PAGE = 100;
const PAGE_BYTES = 4 << 20;

type Use = <T>(read: (database: QueueDatabase) => Promise<T>) => Promise<T>;

/** Events as they come, of all processes. One page is in memory at a time. */
export async function* followEvents(
  use: Use,
  filter: CompiledFilter | undefined,
  { lastEventId = 0, signal }: QueueFollowOptions,
): AsyncGenerator<QueueEvent, void, undefined> {
  let after = await use(async (database) => checkLastEventId(lastEventId, database.newestId()));
  const isOver = (): boolean => signal?.aborted === true;
  while (!isOver()) {
    const { events, newest } = await use(async (database) => {
      // Asked first: what comes while it reads is read next time.
      const seen = database.newestId();
      if (seen <= after) return { events: [], newest: seen };
      const page = { after, limit: PAGE, maxBytes: PAGE_BYTES };
      return { events: await readMatches(database, filter, page), newest: seen };
    });
    for (const event of events) {
      if (isOver()) return;
      yield event;
      after = event.id;
    }
    if (events.length > 0) continue;
    after = Math.max(after, newest);
    try {
      await setTimeout(POLL_MS, undefined, signal === undefined ? {} : { signal });
    } catch {
      // Aborted.
      return;
    }
  }
}
