import { shown } from '../../base/text.ts';
import { invalid } from '../../base/errors.ts';
import type { ChatEvent, ChatProblem } from '../events/event.ts';
import { MAIN_BRANCH } from '../events/payloads.ts';
import { readLine } from '../events/read-line.ts';
import type { ChatView } from '../handle/chat-view.ts';
import type { ChatHandle } from '../handle/chat-writer.ts';
import type { Chat } from '../handle/chats.ts';
import { checkBranch, loadEvent, loadMessage, visibleIn } from '../messages/find-messages.ts';
import { loadBatch } from '../messages/clarify-verbs.ts';
import { hideEvents } from '../messages/event-verbs.ts';
import {
  mergeParts,
  addPart,
  type MessagePart,
  type MessageParts,
} from '../projections/message-part.ts';
import { formatBatch, formatDamage, formatHead, formatMessage } from './markdown.ts';

const PAGE_LINES = 500;
/** The lines that a slow reader holds, unless a single one takes more. */
const HELD_CHARS = 65_536;

/** The version of the JSON that chats are exported as. */
export const EXPORT_VERSION = 1;

export function exportVerb(handle: ChatHandle): Pick<Chat, 'export'> {
  return {
    export(options = {}) {
      const { format = 'markdown', branch = MAIN_BRANCH } = options;
      checkBranch(branch);
      if (format === 'markdown') return toMarkdown(handle, branch);
      if (format === 'json') return toJson(handle);
      throw invalid('format', `must be "markdown" or "json", got ${shown(format)}`);
    },
  };
}

async function* toMarkdown(
  { view, home }: ChatHandle,
  branch: string,
): AsyncGenerator<string, void, undefined> {
  const { id } = view;
  const { title, batches, problems } = await view.run(({ stored, overview, damage }) => ({
    title: stored.meta.title,
    batches: overview.batches,
    problems: [...damage, ...overview.problems].filter(({ kind }) => kind === 'unreadable'),
  }));
  const parts = walkMessages(view, branch);
  yield formatHead({ id, title, branch });
  let next = 0;
  for await (const part of parts) {
    for (; (batches[next]?.opened ?? Infinity) < part.first; next += 1) yield await batchText(next);
    yield formatMessage(await loadMessage(home.engine, part));
  }
  for (; next < batches.length; next += 1) yield await batchText(next);
  if (problems.length > 0) yield formatDamage(problems);

  function batchText(at: number): Promise<string> {
    return view.run(async (now) => {
      const place = now.overview.batches[at];
      return place === undefined ? '' : formatBatch(await loadBatch(now, place));
    });
  }
}

/** Writes every line of the log: events as they are, with their whole payloads, and the rest as text. */
async function* toJson({ view, home }: ChatHandle): AsyncGenerator<string, void, undefined> {
  const { meta, events } = await view.run(({ stored, events: count }) => ({
    meta: stored.meta,
    events: count,
  }));
  const { session_id, title, created_at, updated_at, schema_version } = meta;
  const head = { session_id, title, created_at, updated_at, schema_version };
  yield `{"quipu_chat":${EXPORT_VERSION},"meta":${JSON.stringify(head)},"events":[`;
  let limit = 1;
  for (let from = 0; from < events;) {
    const items = await view.run(() => readItems(from, Math.min(limit, events - from)));
    limit = Math.min(items.length * 2, PAGE_LINES);
    // A generator keeps its variables while its reader is slow, so the whole event is in none.
    for (const item of items) yield `${from++ === 0 ? '\n' : ',\n'}${await toText(item)}`;
  }
  yield '\n]}\n';

  async function toText(item: Item): Promise<string> {
    return JSON.stringify('event' in item ? await loadEvent(home.engine, item.event) : item);
  }

  async function readItems(from: number, most: number): Promise<readonly Item[]> {
    const raw = await view.readRaw(from, most);
    let chars = 0;
    const over = raw.findIndex(
      (line) => (chars += typeof line === 'string' ? line.length : 0) > HELD_CHARS,
    );
    const lines = raw.slice(0, over === -1 ? raw.length : Math.max(1, over)).map((line, at) => {
      const seq = from + at + 1;
      if (typeof line !== 'string') return line;
      const { written: event } = readLine(line, seq, home.upcasters);
      return event === undefined ? { seq, line: line.trimEnd() } : { event };
    });
    const events = lines.flatMap((item) => ('event' in item ? [item.event] : []));
    const shown = (await hideEvents(view, events)).values();
    return lines.map((item) =>
      'event' in item ? { event: shown.next().value ?? item.event } : item,
    );
  }
}

/** An event, a line that is not an event, or the problem of a line that cannot be read. */
type Item =
  | { readonly event: ChatEvent }
  | { readonly seq: number; readonly line: string }
  | ChatProblem;

/** Yields the messages of a branch from the first on, as they are when the walk begins. */
async function* walkMessages(
  view: ChatView,
  branch: string,
): AsyncGenerator<MessagePart, void, undefined> {
  const start = await view.run(async (now) => {
    const touches: MessageParts = new Map();
    const tail = await now.tail();
    for (let segment = 0; segment < now.segments.count; segment += 1) {
      // Changes from before the beginning of a message do not count.
      if (touches.size > 0) drop(touches, await now.segments.begunIn(segment));
      for (const touch of await now.segments.touchedIn(segment)) addPart(touches, touch);
    }
    drop(touches, tail.begun);
    for (const touch of tail.touched) addPart(touches, touch);
    const isVisible = await visibleIn(now, branch);
    return { touches, isVisible, segments: now.segments.count, tail: tail.begun };
  });
  const select = (parts: readonly MessagePart[]): MessagePart[] =>
    parts.filter(start.isVisible).map((part) => {
      const touch = start.touches.get(part.id);
      return touch === undefined ? part : mergeParts(part, touch);
    });
  for (let segment = 0; segment < start.segments; segment += 1) {
    yield* select(await view.run((now) => now.segments.begunIn(segment)));
  }
  yield* select(start.tail);
}

function drop(touches: MessageParts, begun: readonly MessagePart[]): void {
  for (const { id } of begun) touches.delete(id);
}
