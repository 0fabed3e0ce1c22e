import { QuipuError, invalid, isQuipuError } from '../base/errors.ts';
import {
  BATCH_BYTES_MAX,
  BATCH_EVENTS_MAX,
  CONSUMER_BYTES_MAX,
  CONSUMER_CHARS_MAX,
  CONTENT_BYTES_MAX,
  HANDLER_BYTES_MAX,
  LIMIT_DEFAULT,
  LIMIT_MAX,
  PAGE_BYTES_MAX,
} from './limits.ts';
import type { EventType, NewEvent, NewSubscription, PopOptions, Subscription } from './queue.ts';
import { checkSource } from './source-address.ts';
import { parseFilter } from './filter/parse-filter.ts';

const TYPES: readonly string[] = ['message', 'record'] satisfies EventType[];
const WORD = /^[a-z][a-z0-9_.-]{0,63}$/;

/** An event that can be stored as it is. */
export type CheckedEvent = Required<NewEvent>;

export function checkEvent(event: NewEvent): CheckedEvent {
  if (typeof event !== 'object' || event === null) throw invalid('event', 'is an object');
  const source = checkSource(event.source);
  if (!TYPES.includes(event.type)) {
    throw invalid('type', `is message or record, got ${JSON.stringify(event.type)}`);
  }
  const { subtype = null } = event;
  if (subtype !== null && (typeof subtype !== 'string' || !WORD.test(subtype))) {
    throw invalid('subtype', `is a lower-case word, got ${JSON.stringify(subtype)}`);
  }
  return { source, type: event.type, subtype, content: checkContent(event.content) };
}

function checkContent(content: unknown): string {
  if (typeof content !== 'string') {
    throw invalid('content', 'is a text; put anything else in as JSON in a string');
  }
  // A character takes at most three bytes, so most contents need no count.
  if (content.length * 3 > CONTENT_BYTES_MAX) {
    const size = Buffer.byteLength(content);
    if (size > CONTENT_BYTES_MAX) throw tooLarge('content', CONTENT_BYTES_MAX, size);
  }
  // Most contents have no surrogate at all. The first test finds that out ten times as fast.
  if (/[\ud800-\udfff]/.test(content) && /\p{Surrogate}/u.test(content)) {
    throw invalid('content', 'has a lone surrogate and no UTF-8 form');
  }
  return content;
}

/** Checks each event. An error names the event it is about. */
export function checkBatch(events: readonly NewEvent[]): CheckedEvent[] {
  if (!Array.isArray(events)) throw invalid('events', 'is an array');
  if (events.length > BATCH_EVENTS_MAX) {
    throw tooLarge('batch', BATCH_EVENTS_MAX, events.length, 'events');
  }
  const checked: CheckedEvent[] = [];
  let size = 0;
  try {
    for (const event of events as readonly NewEvent[]) {
      const good = checkEvent(event);
      size += good.content.length;
      if (size > BATCH_BYTES_MAX) throw tooLarge('batch', BATCH_BYTES_MAX, size);
      checked.push(good);
    }
  } catch (error) {
    if (!isQuipuError(error)) throw error;
    // The same error, with the event's place in front.
    const message = `event ${checked.length + 1}: ${error.message}`;
    throw new QuipuError(error.code, message, error.data, { cause: error });
  }
  return checked;
}

function tooLarge(
  what: string,
  limit: number,
  size: number,
  unit = 'bytes',
): QuipuError<'TOO_LARGE'> {
  const message = `${what} has at most ${limit} ${unit}, got ${size}`;
  return new QuipuError('TOO_LARGE', message, { what, limit, size });
}

export const QUEUE_NAME: RegExp = /^[a-z0-9][a-z0-9._-]{0,99}$/;

export function checkQueueName(name: unknown): string {
  if (typeof name === 'string' && QUEUE_NAME.test(name)) return name;
  throw invalid(
    'queue',
    `has a name of 1 to 100 of the characters a-z 0-9 . _ - that begins with a letter or digit, got ${JSON.stringify(name)}`,
  );
}

/** Any text that can be the name of a file: `run/<consumer>.lock`. */
export function checkConsumer(consumer: unknown): string {
  if (
    typeof consumer === 'string' &&
    consumer.length <= CONSUMER_CHARS_MAX &&
    Buffer.byteLength(consumer) <= CONSUMER_BYTES_MAX &&
    /^[^-/\\\p{Cc}\p{Surrogate}][^/\\\p{Cc}\p{Surrogate}]*$/u.test(consumer)
  ) {
    return consumer;
  }
  throw invalid(
    'consumer',
    `is a name of 1 to ${CONSUMER_CHARS_MAX} characters and at most ${CONSUMER_BYTES_MAX} bytes, without slashes and control characters, that does not start with a hyphen; got ${JSON.stringify(consumer)}`,
  );
}

export function checkSubscription(given: NewSubscription): Subscription {
  const { handler, filter = null } = given;
  const consumer_id = checkConsumer(given.consumer);
  if (typeof handler !== 'string' || handler.trim() === '') {
    throw invalid('handler', 'is a command for the shell, and not empty');
  }
  if (/[\p{Cc}\p{Surrogate}]/u.test(handler.replaceAll('\t', ' '))) {
    throw invalid('handler', 'is one line, without control characters');
  }
  const size = Buffer.byteLength(handler);
  if (size > HANDLER_BYTES_MAX) throw tooLarge('handler', HANDLER_BYTES_MAX, size);
  if (filter !== null) {
    if (typeof filter !== 'string') throw invalid('filter', 'is a text');
    parseFilter(filter);
  }
  return { consumer_id, handler_cmd: handler, filter };
}

export function checkPage({
  limit = LIMIT_DEFAULT,
  maxBytes = PAGE_BYTES_MAX,
}: Pick<PopOptions, 'limit' | 'maxBytes'>): { limit: number; maxBytes: number } {
  checkWhole('limit', limit, LIMIT_MAX);
  checkWhole('maxBytes', maxBytes, PAGE_BYTES_MAX);
  return { limit, maxBytes };
}

export function checkWhole(what: string, value: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= 1 && value <= max) return;
  throw invalid(what, `is a whole number from 1 to ${max}, got ${String(value)}`);
}

/** An id past the newest event is no mistake: there is nothing after it yet. */
export function checkLastEventId(id: unknown): number {
  if (typeof id === 'number' && Number.isSafeInteger(id) && id >= 0) return id;
  throw invalid('last event id', `is a whole number from 0, got ${JSON.stringify(id)}`);
}

/** The number of a lease, where one is given. */
export function checkFence(fence: unknown): number | undefined {
  if (fence === undefined) return undefined;
  if (typeof fence === 'number' && Number.isSafeInteger(fence) && fence >= 1) return fence;
  throw invalid('fence', `is a whole number from 1, got ${JSON.stringify(fence)}`);
}
