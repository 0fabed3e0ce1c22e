import { setTimeout } from 'node:timers/promises';
import { isQuipuError } from '../base/errors.ts';
import { checkLastEventId } from './check-input.ts';
import type { QueueFollowOptions, QueueEvent } from './queue.ts';
import { readMatches } from './scan.ts';
import type { EventReader } from './scan.ts';

/** Without a notification, a follower sees another process's event within this time. */
const POLL_MS = 100;
const PAGE = 100;
const PAGE_BYTES = 4 << 20;

/** Resolves with the next news, or by itself after a while. Rejects when aborted. */
export type AwaitNews = (signal: AbortSignal | undefined) => Promise<void>;

export interface Followed<F> {
  use<T>(read: (reader: EventReader<F>) => Promise<T>): Promise<T>;
  /** Called before each look: events that come after the call are news. */
  watch(): AwaitNews;
}

/** For queues that send no notification. */
export const poll: AwaitNews = async (signal) => {
  await setTimeout(POLL_MS, undefined, signal === undefined ? {} : { signal });
};

/** Yields events of all processes as they come. One page is in memory at a time. */
export async function* followEvents<F>(
  followed: Followed<F>,
  filter: F | undefined,
  { lastEventId = 0, signal }: QueueFollowOptions,
): AsyncGenerator<QueueEvent, void, undefined> {
  let after = checkLastEventId(lastEventId);
  const isOver = (): boolean => signal?.aborted === true;
  while (!isOver()) {
    const awaitNews = followed.watch();
    const { events, newest } = await followed.use(async (reader) => {
      // This asks first: events that come during the read are read next time.
      const seen = await reader.newestId();
      if (seen <= after) return { events: [], newest: seen };
      const page = { after, limit: PAGE, maxBytes: PAGE_BYTES };
      return { events: await readMatches(reader, filter, page), newest: seen };
    });
    for (const event of events) {
      if (isOver()) return;
      yield event;
      after = event.id;
    }
    if (events.length > 0) continue;
    after = Math.max(after, newest);
    try {
      await awaitNews(signal);
    } catch {
      // The caller aborted.
      return;
    }
  }
}

/** When a queue is closed, its followers end. */
export async function* untilClosed<T>(items: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  try {
    yield* items;
  } catch (error) {
    if (!isQuipuError(error, 'CLOSED')) throw error;
  }
}
