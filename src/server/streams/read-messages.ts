import { isQuipuError } from '../../base/errors.ts';
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
import { streamDoc } from '../../stream/stream-record.ts';

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
