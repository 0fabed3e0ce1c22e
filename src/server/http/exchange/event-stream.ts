import { QuipuError, invalid } from '../../../base/errors.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import { toErrorJson } from './route.ts';
import { PART_BYTES } from './answer-room.ts';
import type { HttpRequest, Reply } from './route.ts';

/** One event of a stream of server-sent events. */
export interface SentEvent {
  /** The id that a client sends as `Last-Event-ID` when it reconnects. */
  readonly id?: string;
  readonly event?: string;
  readonly data: unknown;
}

const NO_BYTES = new Uint8Array();
const HEARTBEAT = encodeUtf8(': still here\n\n');

/**
 * Server-sent events, pulled as fast as the client takes them. Large events may be encoded already. The last event is
 * `end` when the source came to its end, and `error` when it failed. There is none when the server stops: then the
 * client reconnects.
 */
export function eventReply(
  events: AsyncIterable<SentEvent | Uint8Array>,
  request: HttpRequest,
): Reply {
  return {
    type: 'text/event-stream',
    headers: { 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' },
    body: toPieces(events, request),
  };
}

/**
 * The events of a source that can begin after any of them. A large event is dropped when it is found, and read again
 * when there is room for it. The source is closed meanwhile, because it would keep the event.
 */
export async function* reopened(
  open: (after: string | undefined) => AsyncIterable<SentEvent>,
  { room }: HttpRequest,
): AsyncGenerator<Uint8Array, void, undefined> {
  let after: string | undefined;
  const passed = (id: string | undefined): void => {
    after = id;
  };
  for (;;) {
    const largeBytes = yield* untilLarge(open(after), passed);
    if (largeBytes === undefined) return;
    yield* room.parts(largeBytes, async () => {
      for await (const event of open(after)) {
        passed(event.id);
        return encodeEvent(event);
      }
      return NO_BYTES;
    });
  }
}

/** Returns the size of the first large event. Undefined when the source comes to its end before. */
async function* untilLarge(
  events: AsyncIterable<SentEvent>,
  passed: (id: string | undefined) => void,
): AsyncGenerator<Uint8Array, number | undefined, undefined> {
  for await (const event of events) {
    const bytes = encodeEvent(event);
    if (bytes.length > PART_BYTES) return bytes.length;
    passed(event.id);
    yield bytes;
  }
  return undefined;
}

async function* toPieces(
  events: AsyncIterable<SentEvent | Uint8Array>,
  { service, signal, identity }: HttpRequest,
): AsyncGenerator<Uint8Array, void, undefined> {
  // Sends a comment at once, so that the client knows it is connected before anything happens.
  yield HEARTBEAT;
  try {
    for await (const event of withHeartbeats(events, service.limits.heartbeatMs)) {
      if (event === undefined) yield HEARTBEAT;
      else yield event instanceof Uint8Array ? event : encodeEvent(event);
    }
    if (!signal.aborted) yield encodeEvent({ event: 'end', data: {} });
  } catch (error) {
    if (!(error instanceof QuipuError)) {
      service.log.error({ err: error, caller: identity.name }, 'a stream failed');
    }
    yield encodeEvent({ event: 'error', data: toErrorJson(error) });
  }
}

export function encodeEvent({ id, event, data }: SentEvent): Uint8Array {
  // JSON has no line breaks and ids are our own, so nothing here can forge a field.
  const head =
    (id === undefined ? '' : `id: ${id}\n`) + (event === undefined ? '' : `event: ${event}\n`);
  return encodeUtf8(`${head}data: ${JSON.stringify(data)}\n\n`);
}

/** The position at which a client continues: the header of a reconnecting client, or the position it asked for. */
export function resumeAt(request: HttpRequest, asked: string | undefined): string | undefined {
  const header = request.header('last-event-id');
  return header === undefined || header === '' ? asked : header;
}

/** A position that is a number: of an event, or of bytes. Before all of them when there is none. */
export function countAt(text: string | undefined, what: string, problem: string): number {
  if (text === undefined) return 0;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw invalid(what, problem);
}

/** Each item as an event of that name. */
export async function* named<T>(
  event: string,
  items: AsyncIterable<T>,
  idOf: (item: T) => unknown,
): AsyncGenerator<SentEvent, void, undefined> {
  for await (const item of items) yield { id: String(idOf(item)), event, data: item };
}

/**
 * The items of a stream, and `undefined` whenever none came for `everyMs`. Pulls one item at a time, so a slow reader
 * costs one item.
 */
export async function* withHeartbeats<T>(
  items: AsyncIterable<T>,
  everyMs: number,
): AsyncGenerator<T | undefined, void, undefined> {
  const iterator = items[Symbol.asyncIterator]();
  let next: Promise<IteratorResult<T>> | undefined;
  try {
    for (;;) {
      next ??= iterator.next();
      const came = await raceWithTimer(next, everyMs);
      if (came === 'late') {
        yield undefined;
        continue;
      }
      next = undefined;
      if (came.done === true) return;
      yield came.value;
    }
  } finally {
    // A pull that is still waiting ends by its signal; nobody is left to hear of its failure.
    next?.catch(() => undefined);
    void iterator.return?.().catch(() => undefined);
  }
}

async function raceWithTimer<T>(promise: Promise<T>, ms: number): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
