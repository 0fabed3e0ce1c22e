import { Bell } from '../base/bell.ts';
import { isQuipuError } from '../base/errors.ts';
import type { ChatView } from './chat-view.ts';
import type { ChatsWorld } from './chats-world.ts';
import type { ChatEvent } from './events/event.ts';
import { hideEvents } from './events/hide-events.ts';
import { loadEvent } from './messages/load-message.ts';
import { eventsLog } from './names.ts';

const PAGE_EVENTS = 256;

export interface FollowPlan {
  /** The last event that is known. */
  readonly after: number;
  readonly signal: AbortSignal | undefined;
}

/** Reads instead of queueing: a commit only rings, so a slow reader costs a number and no events. */
export async function* followChat(
  { engine, lifetime }: ChatsWorld,
  view: ChatView,
  { after, signal }: FollowPlan,
): AsyncGenerator<ChatEvent, void, undefined> {
  const bell = new Bell();
  const name = eventsLog(view.id);
  let isGone = false;
  const ring = (): void => bell.ring();
  const isOver = (): boolean => lifetime.closed || signal?.aborted === true;
  const stops = [
    engine.subscribe(({ logs, removedLogs }) => {
      isGone ||= removedLogs.includes(name);
      if (isGone || logs.some((log) => log.name === name)) bell.ring();
    }, ring),
    lifetime.onClose(ring),
    () => signal?.removeEventListener('abort', ring),
  ];
  signal?.addEventListener('abort', ring);
  let seen = after;
  try {
    while (!isOver()) {
      const { events, last } = await view.run(() => readShown(view, seen));
      for (const event of events) {
        if (isOver()) return;
        yield await loadEvent(engine, event);
        seen = event.seq;
      }
      const isMore = last > seen || events.length > 0;
      seen = Math.max(seen, last);
      if (isMore) continue;
      if (isGone || view.isArchived) return;
      if (!isOver()) await bell.wait();
    }
  } catch (error) {
    const hasEnded = isQuipuError(error, 'NOT_FOUND') && isGone;
    if (!hasEnded && !(lifetime.closed && isQuipuError(error, 'CLOSED'))) throw error;
  } finally {
    for (const stop of stops) stop();
  }
}

async function readShown(
  view: ChatView,
  after: number,
): Promise<{ events: readonly ChatEvent[]; last: number }> {
  const lines = await view.read(after, PAGE_EVENTS);
  const written = lines.flatMap((line) => (line.written === undefined ? [] : [line.written]));
  return { events: await hideEvents(view, written), last: lines.at(-1)?.seq ?? after };
}
