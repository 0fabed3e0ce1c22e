import { parseBoundedJson } from '../../base/bounded-json.ts';
import {
  QuipuError,
  corrupt,
  invalid,
  isQuipuError,
  messageOf,
  tooLarge,
} from '../../base/errors.ts';
import { isFields } from '../../base/fields.ts';
import { kindOf, shown } from '../../base/text.ts';
import type { Lifetime } from '../../base/lifetime.ts';
import type { BlobPut, DocChange } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { BlobNeed, EraseReport } from '../../engine/upkeep.ts';
import { toBlob } from '../events/chat-lines.ts';
import { SCHEMA_VERSION, type ChatEvent, type JsonObject, type NewEvent } from '../events/event.ts';
import { checkType, metaChange } from '../events/documents.ts';
import {
  BATCH_BYTES_MAX,
  BATCH_EVENTS_MAX,
  LINE_PAYLOAD_BYTES,
  PAYLOAD_BYTES_MAX,
  UPDATED_LAG_MS,
} from '../events/limits.ts';
import { eventsLog, newEventId } from '../events/names.ts';
import { payloadProblem, toStub } from '../events/payloads.ts';
import { formatLine, type Upcasters } from '../events/read-line.ts';
import type { ChatView } from './chat-view.ts';

/** Erases a blob that may have users of other kinds: only the store knows them. */
type EraseBlob = (
  ref: string,
  options: {
    readonly reason: string;
    readonly everywhere?: boolean;
    readonly letGo?: readonly BlobNeed[];
  },
) => Promise<EraseReport>;

/** The store that chats are kept in. */
export interface ChatsHome {
  readonly engine: Engine;
  readonly lifetime: Lifetime;
  readonly clock: () => number;
  readonly upcasters: Upcasters;
  readonly eraseBlob: EraseBlob;
}

// Appends to one chat, in order.
// Invariants
// - An event's number is that of its line, so every append names the length it builds on. When another writer was
//   faster, the events are numbered anew and sent again.
// - Events that wait together go in one commit. A decision that depends on the content of the chat is made on the very
//   state that the commit builds on.
// - An append whose answer was lost is found by its event id, and not repeated.

const ATTEMPTS_MAX = 100;
const PAUSE_MS_MAX = 20;

/** Decides from the current content of the chat. Called again when another writer was faster. */
type Decide = (view: ChatView) => readonly NewEvent[] | Promise<readonly NewEvent[]>;

interface Waiting {
  readonly events: readonly PreparedEvent[];
  readonly resolve: (events: ChatEvent[]) => void;
  readonly reject: (error: unknown) => void;
}

export class ChatWriter {
  readonly #home: ChatsHome;
  readonly #view: ChatView;
  #waiting: Waiting[] = [];
  #draining = false;

  constructor(home: ChatsHome, view: ChatView) {
    this.#home = home;
    this.#view = view;
  }

  /** Appends events that fit whatever the chat says. */
  async append(events: readonly NewEvent[]): Promise<ChatEvent[]> {
    const prepared = prepareEvents(events, this.#home.clock());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ events: prepared, resolve, reject });
      if (!this.#draining) void this.#drain();
    });
  }

  /** Appends the events that `decide` returns. */
  async decide(decide: Decide): Promise<ChatEvent[]> {
    return this.#persist(async (view) => {
      const events = prepareEvents(await decide(view), this.#home.clock());
      return events.length === 0 ? [] : this.#commit(view, events);
    });
  }

  /** Never rejects: each caller hears of its own failure. */
  async #drain(): Promise<void> {
    this.#draining = true;
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup();
      const prepared = group.flatMap(({ events }) => events);
      try {
        const events = await this.#persist((view) => this.#commit(view, prepared));
        let at = 0;
        for (const { events: own, resolve } of group) {
          resolve(events.slice(at, at + own.length));
          at += own.length;
        }
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.#draining = false;
  }

  #takeGroup(): Waiting[] {
    let [events, bytes, count] = [0, 0, 0];
    for (const { events: next } of this.#waiting) {
      events += next.length;
      bytes += next.reduce((sum, { bytes: size }) => sum + size, 0);
      if (count > 0 && (events > BATCH_EVENTS_MAX || bytes > BATCH_BYTES_MAX)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #persist(
    attempt: (view: ChatView) => Promise<ChatEvent[] | 'moved'>,
  ): Promise<ChatEvent[]> {
    for (let attempts = 1; ; attempts += 1) {
      const result = await this.#view.run(attempt);
      if (result !== 'moved') return result;
      if (attempts === ATTEMPTS_MAX) {
        const { id, events } = this.#view;
        const message = `other writers changed chat ${id} during every attempt; try again`;
        const data = { context: id, expected: String(events), head: String(events) };
        throw new QuipuError('HEAD_MOVED', message, data);
      }
      const pause = Math.min(attempts, PAUSE_MS_MAX) * Math.random();
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  async #commit(
    view: ChatView,
    prepared: readonly PreparedEvent[],
  ): Promise<ChatEvent[] | 'moved'> {
    assertWritable(view);
    const events = prepared.map(({ event }, at) => ({ ...event, seq: view.events + at + 1 }));
    const name = eventsLog(view.id);
    const lines = events.map(formatLine);
    const blobs = prepared.flatMap(({ blob }) => blob ?? []);
    try {
      await this.#home.engine.commit({
        blobs,
        logs: [{ do: 'append', name, lines, expectedLines: view.events }],
        docs: this.#touchMeta(view, events),
      });
      return events;
    } catch (error) {
      if (!isQuipuError(error, 'HEAD_MOVED')) throw error;
      const there = await this.#home.engine.readLog(name, view.events, lines.length);
      return there.length === lines.length && there.every((line, at) => line === lines[at])
        ? events
        : 'moved';
    }
  }

  /**
   * Now and then the writer updates the time in the document. The first append updates it, too, so that a removed chat
   * stays removed.
   */
  #touchMeta(view: ChatView, events: readonly ChatEvent[]): DocChange[] {
    const { meta, version } = view.stored;
    const at = events.at(-1)?.at ?? meta.updated_at;
    const lagMs = Date.parse(at) - Date.parse(meta.updated_at);
    if (lagMs < UPDATED_LAG_MS && view.events > 0 && version > 0) return [];
    return [metaChange({ ...meta, updated_at: at }, version)];
  }
}

export function assertWritable(view: ChatView): void {
  const [damage] = view.logDamage;
  const path = eventsLog(view.id);
  if (damage !== undefined) {
    const problem = `takes no events, because its log is damaged: ${damage.message}`;
    throw corrupt(path, `chat ${view.id} ${problem}; run "quipu verify --repair"`);
  }
  if (!view.isArchived) return;
  const message = `chat ${view.id} is archived; run "quipu chat unarchive" to write to it`;
  throw new QuipuError('READ_ONLY', message, { path });
}

/** One chat, with its reader and its writer. Every verb of a chat takes one. */
export interface ChatHandle {
  readonly home: ChatsHome;
  readonly view: ChatView;
  readonly writer: ChatWriter;
}

/** An event that lacks its number, and the blob that its payload went to. */
interface PreparedEvent {
  readonly event: Omit<ChatEvent, 'seq'>;
  readonly blob?: BlobPut;
  readonly bytes: number;
}

/** Checks events as callers give them, once. After this they are only numbered. */
function prepareEvents(events: readonly NewEvent[], nowMs: number): PreparedEvent[] {
  if (events.length > BATCH_EVENTS_MAX) throw overLimit('events', BATCH_EVENTS_MAX, events.length);
  const prepared = events.map((event) => prepareEvent(event, nowMs));
  const bytes = prepared.reduce((sum, { bytes: size }) => sum + size, 0);
  if (bytes > BATCH_BYTES_MAX) throw overLimit('events', BATCH_BYTES_MAX, bytes);
  return prepared;
}

function prepareEvent(given: NewEvent, nowMs: number): PreparedEvent {
  const { type, payload, schemaVersion = SCHEMA_VERSION } = given;
  checkType(type);
  if (!Number.isSafeInteger(schemaVersion) || schemaVersion < SCHEMA_VERSION) {
    throw invalid('schemaVersion', `must be a whole number from 1, got ${shown(schemaVersion)}`);
  }
  if (!isFields(payload)) throw invalid('payload', `must be an object, got ${kindOf(payload)}`);
  const wrong = schemaVersion === SCHEMA_VERSION ? payloadProblem(type, payload) : undefined;
  if (wrong !== undefined) throw invalid('payload', `of ${type} does not fit: ${wrong}`);
  const text = toJson(payload);
  const bytes = Buffer.byteLength(text);
  if (bytes > PAYLOAD_BYTES_MAX) throw overLimit('payload', PAYLOAD_BYTES_MAX, bytes);
  const event = {
    schema_version: schemaVersion,
    event_id: newEventId(nowMs),
    at: new Date(nowMs).toISOString(),
    type,
  };
  // The given object may change before it is written; its text does not.
  const own = parsePayload(text);
  if (bytes <= LINE_PAYLOAD_BYTES) return { event: { ...event, payload: own }, bytes };
  const blob = toBlob(text);
  const stub = toStub(own, { hash: blob.hash, size: bytes });
  if (Buffer.byteLength(JSON.stringify(stub)) > LINE_PAYLOAD_BYTES) {
    throw overLimit('ids and names in the payload', LINE_PAYLOAD_BYTES, bytes);
  }
  return { event: { ...event, payload: stub }, blob, bytes };
}

/** Parses as readers will, so that no reader meets more than it accepts. */
function parsePayload(text: string): JsonObject {
  try {
    return parseBoundedJson(text) as JsonObject;
  } catch (error) {
    throw invalid('payload', `is too complex: ${messageOf(error)}`);
  }
}

function toJson(payload: JsonObject): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(payload);
  } catch (error) {
    throw invalid('payload', `has no JSON form: ${messageOf(error)}`);
  }
  // Half a character is the only one beyond ASCII that is written as an escape.
  if (/(?:^|[^\\])(?:\\\\)*\\ud[89a-f]/i.test(text)) {
    throw invalid('payload', 'has a lone surrogate and no UTF-8 form');
  }
  return text;
}

function overLimit(what: string, limit: number, size: number): QuipuError<'TOO_LARGE'> {
  return tooLarge(what, limit, size, `${what}: ${size} is more than the limit of ${limit}`);
}
