import { invalid } from '../../base/errors.ts';
import type { ChatHandle } from '../chat-handle.ts';
import type { Chat } from '../chats.ts';
import type { ChatEvent, ChatProblem } from '../events/event.ts';
import { hideEvents } from '../events/hide-events.ts';
import { readLine } from '../events/read-line.ts';
import { loadEvent, loadMessage } from '../messages/load-message.ts';
import { MAIN_BRANCH } from '../events/payloads.ts';
import { checkBranch } from '../messages/check-query.ts';
import { formatDamage, formatHead, formatMessage } from './markdown.ts';
import { walkMessages } from './walk-messages.ts';

const PAGE_LINES = 500;

/** The version of the JSON that chats are exported as. */
export const EXPORT_VERSION = 1;

export function exportVerb(handle: ChatHandle): Pick<Chat, 'export'> {
  return {
    export(options = {}): AsyncIterable<string> {
      handle.assertOpen('chat.export');
      const { format = 'markdown', branch = MAIN_BRANCH } = options;
      checkBranch(branch);
      if (format === 'markdown') return toMarkdown(handle, branch);
      if (format === 'json') return toJson(handle);
      throw invalid('format', `is "markdown" or "json", got ${JSON.stringify(format)}`);
    },
  };
}

async function* toMarkdown(
  { view, world }: ChatHandle,
  branch: string,
): AsyncGenerator<string, void, undefined> {
  const { id } = view;
  const { title, problems } = await view.run(({ stored, overview, damage }) => ({
    title: stored.meta.title,
    problems: [...damage, ...overview.problems].filter(({ kind }) => kind === 'unreadable'),
  }));
  const parts = walkMessages(view, branch);
  yield formatHead({ id, title, branch });
  for await (const part of parts) yield formatMessage(await loadMessage(world.engine, part));
  if (problems.length > 0) yield formatDamage(problems);
}

/** Writes every line of the log: events as they are, with their whole payloads, and the rest as text. */
async function* toJson({ view, world }: ChatHandle): AsyncGenerator<string, void, undefined> {
  const { meta, events } = await view.run(({ stored, events: count }) => ({
    meta: stored.meta,
    events: count,
  }));
  const { session_id, title, created_at, updated_at, schema_version } = meta;
  const head = { session_id, title, created_at, updated_at, schema_version };
  yield `{"quipu_chat":${EXPORT_VERSION},"meta":${JSON.stringify(head)},"events":[`;
  let isFirst = true;
  for (let from = 0; from < events; from += PAGE_LINES) {
    const limit = Math.min(PAGE_LINES, events - from);
    for (const item of await view.run(() => readItems(from, limit))) {
      const whole = 'event' in item ? await loadEvent(world.engine, item.event) : item;
      yield `${isFirst ? '\n' : ',\n'}${JSON.stringify(whole)}`;
      isFirst = false;
    }
  }
  yield '\n]}\n';

  async function readItems(from: number, limit: number): Promise<readonly Item[]> {
    const lines = (await view.readRaw(from, limit)).map((line, at) => {
      const seq = from + at + 1;
      if (typeof line !== 'string') return line;
      const { written: event } = readLine(line, seq, world.upcasters);
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
