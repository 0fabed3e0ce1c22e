import { given } from '../../base/given.ts';
import { invalid, isQuipuError } from '../../base/errors.ts';
import { checkBounded } from '../../base/text.ts';
import type { NewFork, NewStream } from '../../stream/streams.ts';
import type { ProducerMark } from '../../stream/append-group.ts';
import { checkStreamName, streamDoc } from '../../stream/stream-record.ts';
import { hashText } from '../../base/hash.ts';
import type { Contexts } from '../../context/contexts.ts';
import type { Turn } from '../../context/turn.ts';
import { tailOf } from '../../stream/find-stream.ts';
import type { LiveStream } from '../../stream/find-stream.ts';
import { MESSAGE_TYPE, isJsonType, jsonValues } from '../../stream/message.ts';
import { Bell } from '../../base/bell.ts';
import type { ContextId } from '../../base/brand.ts';
import type { Change } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';

// The headers and the query of a request for a stream. Everything here is pure.

/** A request with headers. */
interface Headed {
  header(name: string): string | undefined;
}

/** The path below which streams live. A fork may name its source with or without it. */
export const STREAMS_PATH = '/v1/streams/';

const TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}\s*(?:;[\x20-\x7e]{0,255})?$/;
const DIGITS = /^(?:0|[1-9]\d{0,11})$/;
/** As in RFC 3339. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i;
const SEQ_BYTES_MAX = 1024;
const PRODUCER_BYTES_MAX = 1024;

/** The number of messages before a position, as 33 characters that sort like the numbers. */
export function formatOffset(messages: number): string {
  return `${String(messages).padStart(16, '0')}_${'0'.repeat(16)}`;
}

export function parseOffset(text: string, what = 'offset'): number {
  const [, digits] = /^(\d{16})_0{16}$/.exec(text) ?? [];
  const messages = digits === undefined ? -1 : Number(digits);
  if (Number.isSafeInteger(messages) && messages >= 0) return messages;
  throw invalid(
    what,
    'must be an offset that this server gave, such as the header Stream-Next-Offset',
  );
}

/** `-1` is the beginning and `now` the end, whatever that is when the request is answered. */
export function parsePosition(text: string | undefined): number | 'now' {
  if (text === undefined || text === '-1') return 0;
  return text === 'now' ? text : parseOffset(text);
}

export function newStreamOf(request: Headed, body: Uint8Array): NewStream {
  const type = request.header('content-type');
  const [ttl, expiresAt] = [request.header('stream-ttl'), request.header('stream-expires-at')];
  if (ttl !== undefined && expiresAt !== undefined) {
    throw invalid('Stream-TTL', 'and Stream-Expires-At exclude each other');
  }
  if (expiresAt !== undefined && !(TIME.test(expiresAt) && Date.parse(expiresAt) >= 0)) {
    throw invalid(
      'Stream-Expires-At',
      'must be a time as in RFC 3339, such as 2030-01-31T12:00:00Z',
    );
  }
  const fork = forkOf(request);
  return {
    ...(type !== undefined && type !== '' && { type: checkType(type) }),
    ...(ttl !== undefined && { ttl: toCount(ttl, 'Stream-TTL') }),
    ...given({ expiresAt, fork }),
    closed: saysClosed(request),
    body,
  };
}

function forkOf(request: Headed): NewFork | undefined {
  const source = request.header('stream-forked-from');
  const [at, sub] = [
    request.header('stream-fork-offset'),
    request.header('stream-fork-sub-offset'),
  ];
  if (source === undefined) {
    if (at === undefined && sub === undefined) return undefined;
    throw invalid('Stream-Forked-From', 'is missing: it names the stream to fork');
  }
  return {
    from: sourceOf(source),
    ...(at !== undefined && { at: parseOffset(at, 'Stream-Fork-Offset') }),
    sub: sub === undefined ? 0 : toCount(sub, 'Stream-Fork-Sub-Offset'),
  };
}

/** The name in the path of a stream, as it stands in an address. */
function sourceOf(path: string): string {
  const rest = path.startsWith(STREAMS_PATH)
    ? path.slice(STREAMS_PATH.length)
    : path.replace(/^\//, '');
  try {
    return checkStreamName(decodeURIComponent(rest));
  } catch {
    throw invalid(
      'Stream-Forked-From',
      `must be the path of a stream, such as ${STREAMS_PATH}jobs/7`,
    );
  }
}

export function checkType(type: string): string {
  if (TYPE.test(type)) return type;
  throw invalid('Content-Type', 'must be a type such as application/json');
}

export function saysClosed(request: Headed): boolean {
  return request.header('stream-closed')?.toLowerCase() === 'true';
}

export function seqOf(request: Headed): string | undefined {
  const seq = request.header('stream-seq');
  return seq === undefined ? undefined : checkBounded(seq, 'Stream-Seq', SEQ_BYTES_MAX);
}

export function producerOf(request: Headed): ProducerMark | undefined {
  const [id, epoch, seq] = ['producer-id', 'producer-epoch', 'producer-seq'].map((name) =>
    request.header(name),
  );
  if (id === undefined && epoch === undefined && seq === undefined) return undefined;
  if (id === undefined || epoch === undefined || seq === undefined) {
    throw invalid('Producer-Id', 'needs Producer-Epoch and Producer-Seq; give all three or none');
  }
  return {
    id: checkBounded(id, 'Producer-Id', PRODUCER_BYTES_MAX),
    epoch: toSafe(epoch, 'Producer-Epoch'),
    seq: toSafe(seq, 'Producer-Seq'),
  };
}

function toCount(text: string, what: string): number {
  if (DIGITS.test(text)) return Number(text);
  throw invalid(what, 'must be a whole number from 0, without zeros before it');
}

function toSafe(text: string, what: string): number {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : -1;
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw invalid(what, 'must be a whole number from 0');
}

const CURSOR_MS = 20_000;
const CURSOR_JUMP_MAX = 180;

/**
 * The cursor of an answer to a waiting reader: the number of the interval of time. Caches put answers to the same
 * question together by it. A reader that has this cursor already gets a later one, so that no cache gives it the same
 * answer for ever.
 */
export function nextCursor(given: string | undefined, nowMs: number): string {
  const now = Math.floor(nowMs / CURSOR_MS);
  const before = given !== undefined && /^\d{1,15}$/.test(given) ? Number(given) : -1;
  if (before < now) return String(now);
  return String(before + 1 + Math.floor(Math.random() * CURSOR_JUMP_MAX));
}

/** Messages that are read at a time. */
const PAGE_TURNS = 512;

export interface MessagePage {
  /** The messages, unless there is a large one. */
  readonly messages: readonly Uint8Array[];
  /** A message larger than a page, alone in it. It is read when there is room for it. */
  readonly large: Turn | undefined;
  /** The position after these messages. */
  readonly next: number;
  readonly isAtEnd: boolean;
  /** Changes with everything that a reader of the same positions would see. */
  readonly tag: string;
}

interface PageRequest {
  readonly from: number;
  readonly maxBytes: number;
}

/** The messages from a position on. Undefined when the stream is gone since it was found. */
export async function readMessages(
  contexts: Contexts,
  stream: LiveStream,
  { from, maxBytes }: PageRequest,
): Promise<MessagePage | undefined> {
  const tail = tailOf(stream);
  const { id } = stream.context;
  if (from >= tail) {
    const closed = stream.record.closed !== undefined;
    const tag = tagOf([id, from, closed]);
    return { messages: [], large: undefined, next: from, isAtEnd: true, tag };
  }
  const to = Math.min(tail, from + PAGE_TURNS);
  const page = await contexts
    .range(id, from, to, { payload: maxBytes, maxBytes })
    .catch((error: unknown) => {
      if (isQuipuError(error, 'NOT_FOUND')) return undefined;
      throw error;
    });
  if (page === undefined) return undefined;
  const turns = page.turns.filter(isMessage);
  const next = page.nextDepth ?? to;
  const isAtEnd = next === tail;
  const closed = isAtEnd && stream.record.closed !== undefined;
  return {
    messages: turns.flatMap(({ bytes }) => bytes ?? []),
    large: turns.find(({ size }) => size > maxBytes),
    next,
    isAtEnd,
    tag: tagOf([id, from, next, closed, ...turns.map(({ payloadHash }) => payloadHash)]),
  };
}

/** Hidden and erased turns are not shown. A turn that another program appended is no message. */
function isMessage({ type, tombstone, state }: Turn): boolean {
  return type === MESSAGE_TYPE && !tombstone && state === 'sealed';
}

function tagOf(facts: readonly unknown[]): string {
  return `"${hashText(facts.join(' ')).slice(0, 32)}"`;
}

/** The messages as one body: a JSON array for a JSON stream, or one after the other. */
export function joinMessages(messages: readonly Uint8Array[], type: string): Uint8Array {
  if (!isJsonType(type)) return Buffer.concat(messages);
  const parts: Uint8Array[] = [];
  for (const message of messages) {
    const values = jsonValues(message);
    if (values === undefined) continue;
    parts.push(Buffer.from(parts.length === 0 ? '[' : ','), values);
  }
  return Buffer.concat([...(parts.length === 0 ? [Buffer.from('[')] : parts), Buffer.from(']')]);
}

/** The bytes of a large message, as they are now. */
export async function readLarge(contexts: Contexts, { id }: Turn): Promise<Uint8Array[]> {
  const turn = await contexts.turn(id);
  return turn?.bytes === undefined || turn.tombstone ? [] : [turn.bytes];
}

/** A bell that rings whenever a stream may have changed, until it is disposed of. */
interface StreamBell extends Disposable {
  readonly bell: Bell;
}

/** Wakes the readers of streams. All of them share one subscription, which is there while anybody waits. */
export class StreamBells {
  readonly #engine: Engine;
  /** By the stream's document and by its context. */
  readonly #bells = new Map<string | ContextId, Set<Bell>>();
  #stop: (() => void) | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Read the stream again after this: what happened before does not ring. */
  listen(name: string, context: ContextId): StreamBell {
    const bell = new Bell();
    const keys = [streamDoc(name), context];
    for (const key of keys) {
      const bells = this.#bells.get(key);
      if (bells === undefined) this.#bells.set(key, new Set([bell]));
      else bells.add(bell);
    }
    this.#stop ??= this.#engine.subscribe(
      (change) => this.#hear(change),
      () => this.#ring(this.#bells.keys()),
    );
    return { bell, [Symbol.dispose]: () => this.#leave(keys, bell) };
  }

  #leave(keys: readonly (string | ContextId)[], bell: Bell): void {
    for (const key of keys) {
      const bells = this.#bells.get(key);
      bells?.delete(bell);
      if (bells?.size === 0) this.#bells.delete(key);
    }
    if (this.#bells.size > 0) return;
    this.#stop?.();
    this.#stop = undefined;
  }

  #hear({ heads, removedContexts, docs, removedDocs }: Change): void {
    this.#ring(heads.map(({ id }) => id));
    this.#ring(removedContexts);
    this.#ring(docs.map(({ name }) => name));
    this.#ring(removedDocs);
  }

  #ring(keys: Iterable<string | ContextId>): void {
    for (const key of keys) for (const bell of this.#bells.get(key) ?? []) bell.ring();
  }
}
