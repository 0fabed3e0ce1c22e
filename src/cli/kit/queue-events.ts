import { QuipuError, isQuipuError, tooLarge } from '../../base/errors.ts';
import {
  checkEvent,
  BATCH_BYTES_MAX,
  BATCH_EVENTS_MAX,
  CONTENT_BYTES_MAX,
  LAG_MAX,
} from '../../queue/events/check-input.ts';
import type { NewEvent, QueueInfo } from '../../queue/events/queue.ts';
import { namingLine, parseLineFields, readLineGroups } from './files.ts';
import { toFacts, toPlainLine, toTable } from './text.ts';

/** JSON escapes make a line longer than its content. */
const LINE_BYTES_MAX = CONTENT_BYTES_MAX + (1 << 20);
const NEEDED = ['source', 'type', 'content'];
/** These include the fields that `pop` and `peek` print: an event that is pushed again gets its own id and time. */
const KNOWN = new Set([...NEEDED, 'subtype', 'id', 'created_at']);

/** Reads events from lines of JSON. An error names the first wrong line by its number. Blank lines do not count. */
async function readEvents(source: AsyncIterable<Uint8Array>): Promise<NewEvent[]> {
  const events: NewEvent[] = [];
  let number = 0;
  let bytes = 0;
  try {
    for await (const lines of readLineGroups(source, LINE_BYTES_MAX)) {
      for (const line of lines) {
        number += 1;
        bytes += line.length;
        const event = toEvent(line, number);
        if (event !== undefined) events.push(event);
      }
      assertAtMost(BATCH_EVENTS_MAX, events.length, 'events');
      assertAtMost(BATCH_BYTES_MAX, bytes, 'bytes');
    }
  } catch (error) {
    // A line that is too long is found before it is complete.
    if (!isQuipuError(error, 'TOO_LARGE') || error.data.what !== 'line') throw error;
    const message = `line ${number + 1}: ${error.message}`;
    throw new QuipuError(error.code, message, error.data, { cause: error });
  }
  return events;
}

/** What people give of an event that they push, or of many. */
export interface PushGiven {
  readonly source?: string;
  readonly type?: string;
  readonly subtype?: string;
  readonly content?: string;
  readonly batch?: boolean;
}

/** The events to push. `missing` makes the error for an option that is needed. The store checks the values. */
export async function readPushed(
  stdin: AsyncIterable<Uint8Array>,
  given: PushGiven,
  missing: (option: string) => QuipuError,
): Promise<NewEvent[]> {
  if (given.batch === true) return readEvents(stdin);
  const { source, type, subtype = null, content } = given;
  for (const [option, value] of Object.entries({ source, type, content })) {
    if (value === undefined) throw missing(`--${option}`);
  }
  return [{ source, type, subtype, content } as NewEvent];
}

function toEvent(line: Uint8Array, number: number): NewEvent | undefined {
  const rules = { needed: NEEDED, isKnown: (name: string): boolean => KNOWN.has(name) };
  const event = parseLineFields(line, number, rules) as NewEvent | undefined;
  if (event !== undefined) namingLine(number, () => checkEvent(event));
  return event;
}

function assertAtMost(limit: number, size: number, unit: string): void {
  if (size <= limit) return;
  throw tooLarge('batch', limit, size, `a batch has at most ${limit} ${unit}`);
}

const CELL_CHARS = 60;

/** Shows everything known about a queue, for people. */
export function toQueueText(info: QueueInfo): string {
  const facts = toFacts([
    ['thread', info.thread],
    ['events', info.event_count],
    ['subscriptions', info.subscriptions.length],
  ]);
  if (info.progress.length === 0) return facts;
  const known = new Map(info.subscriptions.map((row) => [row.consumer_id, row]));
  const rows = info.progress.map((consumer) => {
    const subscription = known.get(consumer.consumer_id);
    return [
      consumer.consumer_id,
      subscription === undefined ? 'unsubscribed' : consumer.state,
      String(consumer.last_acked_id),
      toLagText(consumer.lag),
      toPlainLine(subscription?.filter ?? '', CELL_CHARS),
      toPlainLine(subscription?.handler_cmd ?? '', CELL_CHARS),
    ];
  });
  const headings = ['CONSUMER', 'STATE', 'ACKED', 'LAG', 'FILTER', 'HANDLER'];
  const runs = info.progress.flatMap(({ consumer_id, handler }) =>
    handler === undefined
      ? []
      : [`${consumer_id} runs since ${handler.since} as process ${handler.pid}\n`],
  );
  const failures = info.progress
    .filter(({ last_error }) => last_error !== null)
    .map((consumer) => {
      const text = toPlainLine(consumer.last_error ?? '', 2 * CELL_CHARS);
      return `${consumer.consumer_id} failed ${consumer.failures} times: ${text}\n`;
    });
  return `${facts}\n${toTable(headings, rows, ['ACKED', 'LAG'])}${[...runs, ...failures].join('')}`;
}

function toLagText(lag: number | null): string {
  if (lag === null) return '-';
  return lag >= LAG_MAX ? `${LAG_MAX}+` : String(lag);
}
