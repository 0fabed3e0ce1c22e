import { leavable } from '../../base/leavable.ts';
import { checkSignal, checkWhole } from '../../base/check-value.ts';
import { isQuipuError } from '../../base/errors.ts';
import { ChangeBell } from '../../engine/change-bell.ts';
import type { Engine } from '../../engine/engine.ts';
import { blankEvent, isAbout, type Subject, refOf } from '../events/payloads.ts';
import { knownTypes } from '../events/documents.ts';
import type { ChatProblem, ChatEvent } from '../events/event.ts';
import { PAGE_BYTES_MAX, PAGE_EVENTS_MAX, PROBLEMS_LISTED_MAX } from '../events/limits.ts';
import { eventsLog } from '../events/names.ts';
import type { ReadLine } from '../events/read-line.ts';
import type { ChatView } from '../handle/chat-view.ts';
import type { ChatHandle, ChatsHome } from '../handle/chat-writer.ts';
import type { Chat, Projected } from '../handle/chats.ts';
import { toStatus } from '../handle/info.ts';
import type { MessagePart } from '../projections/message-part.ts';
import {
  fromSnapshot,
  takeSnapshot,
  type Projection,
  type Snapshot,
} from '../projections/projection.ts';
import { lonelyTouches, loadEvent, findPart } from './find-messages.ts';

type EventVerbs = Pick<Chat, 'status' | 'events' | 'follow' | 'project' | 'problems'>;

const PAGE_EVENTS = 1000;

export function eventVerbs({ view, home }: ChatHandle): EventVerbs {
  const { engine } = home;
  return {
    async status() {
      return view.run(toStatus);
    },

    async events({ after = 0, limit = PAGE_EVENTS } = {}) {
      checkWhole(after, 'after', 0, Number.MAX_SAFE_INTEGER);
      checkWhole(limit, 'limit', 0, PAGE_EVENTS_MAX);
      return view.run(async () => {
        const lines = await readUpTo(view, after, limit);
        const next = after + lines.length;
        const written = lines.flatMap((line) => line.written ?? []);
        const problems = lines.flatMap(({ problem }) => problem ?? []);
        return {
          events: await hideEvents(view, written),
          problems: await withoutKnown(engine, problems),
          ...(lines.length > 0 && next < view.events && { next }),
        };
      });
    },

    follow(options = {}) {
      const { after = 0, signal, maxPayload = Number.MAX_SAFE_INTEGER } = options;
      checkWhole(after, 'after', 0, Number.MAX_SAFE_INTEGER);
      checkWhole(maxPayload, 'maxPayload', 0, Number.MAX_SAFE_INTEGER);
      return leavable(checkSignal(signal), (left) =>
        followChat(home, view, { after, signal: left, maxPayload }),
      );
    },

    async project<S>(projection: Projection<S>, from?: Snapshot): Promise<Projected<S>> {
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

    async problems() {
      const unreadable = await findUnreadable(view);
      return view.run(async () => {
        const lonely = (await lonelyTouches(view)).map(toProblem);
        // A line that was unreadable once and can be read now needs no mention.
        const { listed } = await view.foundProblems();
        const told = listed.filter(({ kind }) => kind !== 'unreadable');
        const all = [...view.damage, ...told, ...unreadable, ...lonely];
        return all.toSorted((a, b) => a.seq - b.seq);
      });
    },
  };
}

/** A type that a program has registered is no problem. */
async function withoutKnown(engine: Engine, problems: ChatProblem[]): Promise<ChatProblem[]> {
  if (!problems.some(({ type }) => type !== undefined)) return problems;
  const known = await knownTypes(engine);
  return problems.filter(({ type }) => type === undefined || !known.has(type));
}

/** Reads lines up to the one that takes the page past its size. */
async function readUpTo(view: ChatView, after: number, limit: number): Promise<ReadLine[]> {
  const lines: ReadLine[] = [];
  let chars = 0;
  while (lines.length < limit && chars <= PAGE_BYTES_MAX) {
    const count = Math.min(FOLLOW_EVENTS, limit - lines.length);
    const read = await view.read(after + lines.length, count);
    if (read.length === 0) break;
    for (const line of read) {
      chars += line.chars ?? 0;
      lines.push(line);
      if (chars > PAGE_BYTES_MAX) break;
    }
  }
  return lines;
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

const FOLLOW_EVENTS = 256;
/** The lines that a slow reader holds, unless a single one takes more. */
const HELD_CHARS = 65_536;

type FollowPlan = Required<NonNullable<Parameters<Chat['follow']>[0]>>;

/** Reads instead of queueing: a commit only rings, so a slow reader costs a number and no events. */
async function* followChat(
  home: ChatsHome,
  view: ChatView,
  { after, signal, maxPayload }: FollowPlan,
): AsyncGenerator<ChatEvent, void, undefined> {
  const { engine, lifetime } = home;
  const name = eventsLog(view.id);
  let isGone = false;
  using bell = new ChangeBell(home, {
    signal,
    hear({ logs, removedLogs }) {
      isGone ||= removedLogs.includes(name);
      return isGone || logs.some((log) => log.name === name);
    },
  });
  let seen = after;
  let limit = 1;
  let isKnown = false;
  try {
    while (!bell.isOver) {
      const { events, last, fitting } = await view.run(() => readShown(view, seen, limit));
      isKnown = true;
      limit = Math.min(fitting * 2, FOLLOW_EVENTS);
      for (const event of events) {
        if (bell.isOver) return;
        const { size = 0 } = refOf(event.payload) ?? {};
        yield size > maxPayload ? event : await loadEvent(engine, event);
        seen = event.seq;
      }
      const isMore = last > seen || events.length > 0;
      seen = Math.max(seen, last);
      if (isMore) continue;
      if (isGone || view.isArchived) return;
      if (!bell.isOver) await bell.wait();
    }
  } catch (error) {
    // A read may find that the chat is gone before the subscription says so.
    const isOfChat = isQuipuError(error, 'NOT_FOUND') && error.data.what === 'chat';
    const hasEnded = isGone ? isQuipuError(error, 'NOT_FOUND') : isKnown && isOfChat;
    if (!hasEnded && !(lifetime.closed && isQuipuError(error, 'CLOSED'))) throw error;
  }
}

/** Returns events, the last line that was looked at, and the number of lines that fit, at least one. */
async function readShown(
  view: ChatView,
  after: number,
  limit: number,
): Promise<{ events: readonly ChatEvent[]; last: number; fitting: number }> {
  const read = await view.read(after, limit);
  let chars = 0;
  const over = read.findIndex((line) => (chars += line.chars ?? 0) > HELD_CHARS);
  const fitting = Math.max(1, over === -1 ? read.length : over);
  const lines = read.slice(0, fitting);
  const written = lines.flatMap((line) => line.written ?? []);
  return { events: await hideEvents(view, written), last: lines.at(-1)?.seq ?? after, fitting };
}

/**
 * Returns events as readers see them: without their content about messages and batches that were redacted, as far as
 * that is known now. Call this within `view.run`.
 */
export async function hideEvents(
  view: ChatView,
  events: readonly ChatEvent[],
): Promise<readonly ChatEvent[]> {
  const { messages, batches } = view.overview.hidden;
  if (messages.length === 0 && batches.length === 0) return events;
  const [named, closed] = [new Set(messages), new Set(batches)];
  const redacted = new Map<string, boolean>();
  const shown: ChatEvent[] = [];
  for (const event of events) {
    const { message_id: message, batch_id: batch } = event.payload;
    let left = event;
    if (typeof batch === 'string' && closed.has(batch)) {
      left = blanked(left, { kind: 'clarification', id: batch });
    }
    if (typeof message === 'string' && named.has(message)) {
      const isHidden = redacted.get(message) ?? (await isRedacted(view, message));
      redacted.set(message, isHidden);
      if (isHidden) left = blanked(left, { kind: 'message', id: message });
    }
    shown.push(left);
  }
  return shown;
}

/** A redaction that came before its message does not count. */
async function isRedacted(view: ChatView, message: string): Promise<boolean> {
  return (await findPart(view, message))?.redacted !== undefined;
}

function blanked(event: ChatEvent, subject: Subject): ChatEvent {
  return isAbout(event, subject) ? blankEvent(event, subject) : event;
}
