import { checkWhole, toWhole } from '../../base/check-value.ts';
import {
  QuipuError,
  invalid,
  isQuipuError,
  tooLarge,
  notFound,
  unsupported,
} from '../../base/errors.ts';
import { shown } from '../../base/text.ts';
import { parseFilter } from '../filter/parse-filter.ts';
import type {
  EventType,
  NewEvent,
  NewSubscription,
  PopOptions,
  Subscription,
  WorkOptions,
} from './queue.ts';

// Bounds of a queue. docs/reference/queue.md lists them for people.

/** Bytes of one event's content in UTF-8. */
export const CONTENT_BYTES_MAX: number = 8 << 20;
export const SOURCE_BYTES_MAX = 1024;
const HANDLER_BYTES_MAX: number = 16 * 1024;
const CONSUMER_CHARS_MAX = 128;
/** The name of a file has at most 255 bytes, and a suffix follows this name. */
const CONSUMER_BYTES_MAX = 200;
/** A batch is one transaction and stays in memory until it is written. */
export const BATCH_EVENTS_MAX = 1_000_000;
export const BATCH_BYTES_MAX: number = 256 << 20;

export const LIMIT_DEFAULT = 100;
export const LIMIT_MAX = 100_000;
/** A page ends with the event that takes it past this size, whatever its limit. */
export const PAGE_BYTES_MAX: number = 64 << 20;
/** Lag is counted up to this number. */
export const LAG_MAX = 10_000;
/** A file with more lines than this is put aside before the next line is written. */
export const FILE_LINES_MAX = 10_000;

const TYPES: readonly string[] = ['message', 'record'] satisfies EventType[];
const WORD = /^[a-z][a-z0-9_.-]{0,63}$/;

/** An event that can be stored as it is. */
export type CheckedEvent = Required<NewEvent>;

export function checkEvent(event: NewEvent): CheckedEvent {
  if (typeof event !== 'object' || event === null) throw invalid('event', 'must be an object');
  const source = checkSource(event.source);
  if (!TYPES.includes(event.type)) {
    throw invalid('type', `must be message or record, got ${shown(event.type)}`);
  }
  const { subtype = null } = event;
  if (subtype !== null && (typeof subtype !== 'string' || !WORD.test(subtype))) {
    throw invalid('subtype', `must be a lower-case word, got ${shown(subtype)}`);
  }
  return { source, type: event.type, subtype, content: checkContent(event.content) };
}

function checkContent(content: unknown): string {
  if (typeof content !== 'string') {
    throw invalid('content', 'must be a text; put anything else in as JSON in a string');
  }
  // A character takes at most three bytes, so most contents need no count.
  if (content.length * 3 > CONTENT_BYTES_MAX) {
    const size = Buffer.byteLength(content);
    if (size > CONTENT_BYTES_MAX) throw overLimit('content', CONTENT_BYTES_MAX, size);
  }
  // Most contents have no surrogate at all. The first test finds that out ten times as fast.
  if (/[\ud800-\udfff]/.test(content) && /\p{Surrogate}/u.test(content)) {
    throw invalid('content', 'has a lone surrogate and no UTF-8 form');
  }
  return content;
}

/** Checks each event. An error names the event it is about. */
export function checkBatch(events: readonly NewEvent[]): CheckedEvent[] {
  if (!Array.isArray(events)) throw invalid('events', 'must be an array');
  if (events.length > BATCH_EVENTS_MAX) {
    throw overLimit('batch', BATCH_EVENTS_MAX, events.length, 'events');
  }
  const checked: CheckedEvent[] = [];
  let size = 0;
  try {
    for (const event of events as readonly NewEvent[]) {
      const good = checkEvent(event);
      size += good.content.length;
      if (size > BATCH_BYTES_MAX) throw overLimit('batch', BATCH_BYTES_MAX, size);
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

function overLimit(
  what: string,
  limit: number,
  size: number,
  unit = 'bytes',
): QuipuError<'TOO_LARGE'> {
  const message = `${what} has at most ${limit} ${unit}, got ${size}`;
  return tooLarge(what, limit, size, message);
}

export const QUEUE_NAME: RegExp = /^[a-z0-9][a-z0-9._-]{0,99}$/;

export function checkQueueName(name: unknown): string {
  if (typeof name === 'string' && QUEUE_NAME.test(name)) return name;
  throw invalid(
    'queue',
    `must have a name of 1 to 100 of the characters a-z 0-9 . _ - that begins with a letter or digit, got ${shown(name)}`,
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
    `must be a name of 1 to ${CONSUMER_CHARS_MAX} characters and at most ${CONSUMER_BYTES_MAX} bytes, without slashes and control characters, that does not start with a hyphen; got ${shown(consumer)}`,
  );
}

export function checkSubscription(given: NewSubscription): Subscription {
  const { handler, filter = null } = given;
  const consumer_id = checkConsumer(given.consumer);
  if (typeof handler !== 'string' || handler.trim() === '') {
    throw invalid('handler', 'must be a command for the shell, and not empty');
  }
  if (/[\p{Cc}\p{Surrogate}]/u.test(handler.replaceAll('\t', ' '))) {
    throw invalid('handler', 'must be one line, without control characters');
  }
  const size = Buffer.byteLength(handler);
  if (size > HANDLER_BYTES_MAX) throw overLimit('handler', HANDLER_BYTES_MAX, size);
  if (filter !== null) {
    if (typeof filter !== 'string') throw invalid('filter', 'must be a text');
    parseFilter(filter);
  }
  return { consumer_id, handler_cmd: handler, filter };
}

export function checkPage({
  limit = LIMIT_DEFAULT,
  maxBytes = PAGE_BYTES_MAX,
}: Pick<PopOptions, 'limit' | 'maxBytes'>): { limit: number; maxBytes: number } {
  checkWhole(limit, 'limit', 1, LIMIT_MAX);
  checkWhole(maxBytes, 'maxBytes', 1, PAGE_BYTES_MAX);
  return { limit, maxBytes };
}

/** An id past the newest event is no mistake: there is nothing after it yet. */
export function checkLastEventId(id: unknown): number {
  return toWhole(id, 'last event id');
}

/** The number of a lease, where one is given. */
export function checkFence(fence: unknown): number | undefined {
  if (fence === undefined) return undefined;
  if (typeof fence === 'number' && Number.isSafeInteger(fence) && fence >= 1) return fence;
  throw invalid('fence', `must be a whole number from 1, got ${shown(fence)}`);
}

const JOBS_DEFAULT = 4;
const JOBS_MAX = 1000;
const LEASE_MS_DEFAULT = 15_000;
const LEASE_MS_MIN = 500;
const LEASE_MS_MAX = 3_600_000;

export interface CheckedWork extends Required<Omit<WorkOptions, 'queues' | 'consumers'>> {
  readonly queues: ReadonlySet<string> | undefined;
  readonly consumers: ReadonlySet<string> | undefined;
}

/** Throws INVALID for options that make no sense. */
export function checkWork(given: WorkOptions): CheckedWork {
  const { once = false, jobs = JOBS_DEFAULT, leaseMs = LEASE_MS_DEFAULT, env = {} } = given;
  checkWhole(jobs, 'jobs', 1, JOBS_MAX);
  checkWhole(leaseMs, 'leaseMs', 1, LEASE_MS_MAX);
  if (leaseMs < LEASE_MS_MIN) throw invalid('leaseMs', `must be at least ${LEASE_MS_MIN}`);
  return {
    queues: toSet(given.queues, checkQueueName),
    consumers: toSet(given.consumers, checkConsumer),
    once,
    jobs,
    leaseMs,
    signal: given.signal ?? new AbortController().signal,
    env,
    note: given.note ?? (() => undefined),
  };
}

function toSet(
  names: readonly string[] | undefined,
  check: (name: unknown) => string,
): Set<string> | undefined {
  return names === undefined ? undefined : new Set(names.map(check));
}

// The source of an event, as segments between colons:
//
//   external:<channel_type>:<channel_id>:<session_type>:<session_id>:<peer_id>
//   internal:<session_type>:<session_id>:<agent_id>
//   self
//
// Any other text without control characters is a plain name.

const SEGMENTS: Readonly<Record<string, readonly string[]>> = {
  external: ['channel_type', 'channel_id', 'session_type', 'session_id', 'peer_id'],
  internal: ['session_type', 'session_id', 'agent_id'],
};

/** The same sources come again and again, and a batch has many events. */
const KNOWN_MAX = 1000;
const known = new Set<string>();

function checkSource(source: unknown): string {
  if (typeof source === 'string' && known.has(source)) return source;
  const checked = checkNewSource(source);
  if (known.size >= KNOWN_MAX) known.clear();
  known.add(checked);
  return checked;
}

function checkNewSource(source: unknown): string {
  if (typeof source !== 'string' || source === '')
    throw invalid('source', 'must be a text, and not empty');
  const bytes = Buffer.byteLength(source);
  if (bytes > SOURCE_BYTES_MAX) {
    throw invalid('source', `may have at most ${SOURCE_BYTES_MAX} bytes, got ${bytes}`);
  }
  if (/[\p{Cc}\p{Surrogate}]/u.test(source)) {
    throw invalid('source', 'has a control character or a lone surrogate');
  }
  if (source.startsWith('-')) throw invalid('source', 'must not start with a hyphen');
  const [prefix = '', ...segments] = source.split(':');
  const names = Object.hasOwn(SEGMENTS, prefix) ? SEGMENTS[prefix] : undefined;
  if (names === undefined || segments.length === 0) return source;
  const form = [prefix, ...names.map((name) => `<${name}>`)].join(':');
  if (segments.length !== names.length) {
    throw invalid(
      'source',
      `has ${segments.length + 1} segments where ${names.length + 1} are needed: ${form}`,
    );
  }
  const empty = segments.indexOf('');
  if (empty !== -1) throw invalid('source', `has an empty <${names[empty] ?? ''}>: ${form}`);
  if (source !== source.toLowerCase()) throw invalid('source', `must be lower-case: ${form}`);
  return source;
}

// The refusals that every queue gives in the same words.

export function noSuchQueue(name: string): QuipuError<'NOT_FOUND'> {
  return notFound('queue', name);
}

export function noSubscription(consumer: string): QuipuError<'NOT_FOUND'> {
  const data = { what: 'subscription', id: consumer };
  return new QuipuError('NOT_FOUND', `consumer ${consumer} has no subscription`, data);
}

export function isSubscribed(consumer: string): QuipuError<'EXISTS'> {
  const data = { what: 'subscription', id: consumer };
  return new QuipuError('EXISTS', `consumer ${consumer} is subscribed already`, data);
}

export function noFences(): QuipuError<'UNSUPPORTED'> {
  const message =
    'a queue in a folder has locks and no fences; leave the fence out, which is for queues on PostgreSQL';
  return unsupported('fence', 'a queue in a folder', message);
}
