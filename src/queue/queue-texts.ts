import { parseBoundedJson } from '../base/bounded-json.ts';
import { orNothing } from '../base/errors.ts';
import { eachName } from '../engine/names.ts';
import type { TextChange, TextDocument, TextSource } from '../engine/texts.ts';
import type { Queue, QueueEvent, Queues } from './events/queue.ts';

// The texts of queues: events, which never change. The mark of a queue is the id of the last event that was read.
// Queues do not go through the engine, so each reading asks every queue how far it is.

const PAGE_EVENTS = 256;
const PAGE_BYTES = 4_194_304;

export function queueTexts(queues: Pick<Queues, 'open' | 'list'>): TextSource {
  const openQueue = (name: string): Promise<Queue | undefined> =>
    orNothing(() => queues.open(name, { create: false }));

  async function peek(
    queue: Queue,
    lastEventId: number,
    limit: number,
  ): Promise<readonly QueueEvent[]> {
    return queue.peek({ lastEventId, limit, maxBytes: PAGE_BYTES });
  }

  return {
    kind: 'queue',
    hear: () => undefined,
    miss: () => undefined,

    async *read(marks) {
      const found = await queues.list();
      const names = new Set(found.map(({ name }) => name));
      for await (const known of eachName((limit, after) => marks.list(limit, after))) {
        if (names.has(known)) continue;
        yield {
          changes: [{ removeThread: known }],
          marks: [[known, undefined]],
          done: 0,
          total: 0,
        };
      }
      for (const { name, last_event_id: last } of found) {
        let mark = Number((await marks.get(name)) ?? 0);
        const queue = mark < last ? await openQueue(name) : undefined;
        while (queue !== undefined && mark < last) {
          const events = await peek(queue, mark, PAGE_EVENTS);
          mark = events.at(-1)?.id ?? last;
          const changes: TextChange[] = events.map((event) => ({ put: toDocument(name, event) }));
          yield { changes, marks: [[name, String(mark)]], done: mark, total: last };
        }
      }
    },

    load: (documents) =>
      Promise.all(
        documents.map(async ({ thread, ref }) => {
          const queue = await openQueue(thread);
          const [event] = queue === undefined ? [] : await peek(queue, Number(ref) - 1, 1);
          return event !== undefined && String(event.id) === ref
            ? toDocument(thread, event)
            : undefined;
        }),
      ),

    async around(thread, ref, count) {
      const queue = await openQueue(thread);
      if (queue === undefined) return [];
      const events = await peek(queue, Math.max(0, Number(ref) - 1 - count), 2 * count + 1);
      return events.map((event) => toDocument(thread, event));
    },

    gone: () => Promise.resolve([]),
    shows: (thread, document) => Promise.resolve(thread === document.thread),
  };
}

function toDocument(thread: string, event: QueueEvent): TextDocument {
  const { id, source, type, subtype, content } = event;
  return {
    thread,
    ref: String(id),
    depth: id,
    at: Date.parse(event.created_at) || 0,
    type: subtype ?? type,
    role: source,
    value: toValue(content),
  };
}

/** Many programs push JSON. */
function toValue(content: string): unknown {
  if (!/^\s*[{[]/.test(content)) return content;
  try {
    return parseBoundedJson(content);
  } catch {
    // SyntaxError: it is a text like any other.
    return content;
  }
}
