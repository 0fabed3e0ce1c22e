import { kindOf } from '../../base/check-text.ts';
import { invalid } from '../../base/errors.ts';
import type { ChatHandle } from '../chat-handle.ts';
import type { ChatView } from '../chat-view.ts';
import { checkCount } from '../messages/check-query.ts';
import type { Chat, EventPage, Projected } from '../chats.ts';
import type { ChatProblem } from './event.ts';
import { lonelyTouches } from '../messages/find-messages.ts';
import { followChat } from '../follow-chat.ts';
import { hideEvents } from './hide-events.ts';
import { toStatus } from '../info.ts';
import { PAGE_EVENTS_MAX, PROBLEMS_LISTED_MAX } from '../limits.ts';
import { loadEvent } from '../messages/load-message.ts';
import { fromSnapshot, takeSnapshot } from '../projection.ts';
import type { Projection, Snapshot } from '../projection.ts';
import type { MessagePart } from '../projections/message-part.ts';

type EventVerbs = Pick<Chat, 'status' | 'events' | 'follow' | 'project' | 'problems'>;

const PAGE_EVENTS = 1000;

export function eventVerbs({ view, world, assertOpen }: ChatHandle): EventVerbs {
  const { engine } = world;
  return {
    async status() {
      assertOpen('chat.status');
      return view.run(toStatus);
    },

    async events({ after = 0, limit = PAGE_EVENTS } = {}): Promise<EventPage> {
      assertOpen('chat.events');
      checkCount(after, 'after', Number.MAX_SAFE_INTEGER);
      checkCount(limit, 'limit', PAGE_EVENTS_MAX);
      return view.run(async () => {
        const lines = await view.read(after, limit);
        const next = after + lines.length;
        return {
          events: await hideEvents(
            view,
            lines.flatMap(({ written }) => (written === undefined ? [] : [written])),
          ),
          problems: lines.flatMap(({ problem }) => (problem === undefined ? [] : [problem])),
          ...(lines.length > 0 && next < view.events && { next }),
        };
      });
    },

    follow(options = {}) {
      assertOpen('chat.follow');
      const { after = 0, signal } = options;
      checkCount(after, 'after', Number.MAX_SAFE_INTEGER);
      if (signal !== undefined && !(signal instanceof AbortSignal)) {
        throw invalid('signal', `is an AbortSignal, got ${kindOf(signal)}`);
      }
      return followChat(world, view, { after, signal });
    },

    async project<S>(projection: Projection<S>, from?: Snapshot): Promise<Projected<S>> {
      assertOpen('chat.project');
      const known = from && fromSnapshot(projection, from);
      let state = known ?? projection.initial();
      let seq = known === undefined ? 0 : (from?.seq ?? 0);
      for (;;) {
        const lines = await view.run(() => view.read(seq, PAGE_EVENTS));
        if (lines.length === 0)
          return { state, seq, snapshot: takeSnapshot(projection, state, seq) };
        for (const { event } of lines) {
          if (event !== undefined) state = projection.apply(state, await loadEvent(engine, event));
        }
        seq += lines.length;
      }
    },

    async problems(): Promise<ChatProblem[]> {
      assertOpen('chat.problems');
      const unreadable = await findUnreadable(view);
      return view.run(async () => {
        const lonely = (await lonelyTouches(view)).map(toProblem);
        // A line that was unreadable once and can be read now needs no mention.
        const told = view.overview.problems.filter(({ kind }) => kind !== 'unreadable');
        return [...view.damage, ...told, ...unreadable, ...lonely].toSorted(
          (a, b) => a.seq - b.seq,
        );
      });
    },
  };
}

/** Reads every line: the folds of the events show them also when their bytes are damaged. */
async function findUnreadable(view: ChatView): Promise<ChatProblem[]> {
  const found: ChatProblem[] = [];
  for (let from = 0; found.length < PROBLEMS_LISTED_MAX; from += PAGE_EVENTS) {
    const lines = await view.run((now) =>
      now.readRaw(from, Math.min(PAGE_EVENTS, now.events - from)),
    );
    for (const line of lines) if (typeof line !== 'string') found.push(line);
    if (lines.length < PAGE_EVENTS) break;
  }
  return found.slice(0, PROBLEMS_LISTED_MAX);
}

function toProblem({ id, edit, redacted, attachments }: MessagePart): ChatProblem {
  const seq = edit?.seq ?? redacted?.seq ?? attachments[0]?.seq ?? 0;
  return { seq, kind: 'unknown-message', message: `there is no message ${id.slice(0, 200)}` };
}
