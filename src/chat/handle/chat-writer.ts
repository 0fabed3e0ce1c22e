import { QuipuError, isQuipuError, corrupt } from '../../base/errors.ts';
import type { Lifetime } from '../../base/lifetime.ts';
import type { BlobPut, DocChange } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { BlobNeed, EraseReport } from '../../engine/upkeep.ts';
import type { ChatEvent, NewEvent } from '../events/event.ts';
import { BATCH_BYTES_MAX, BATCH_EVENTS_MAX, UPDATED_LAG_MS } from '../events/limits.ts';
import { metaChange } from '../events/meta.ts';
import { eventsLog } from '../events/names.ts';
import { prepareEvents, type PreparedEvent } from '../events/prepare-events.ts';
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
      if (attempts === ATTEMPTS_MAX) throw tooBusy(this.#view);
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
    const blobs: BlobPut[] = prepared.flatMap(({ blob }) => (blob === undefined ? [] : [blob]));
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
  if (damage !== undefined) {
    throw corrupt(
      eventsLog(view.id),
      `chat ${view.id} takes no events, because its log is damaged: ${damage.message}; run "quipu verify --repair"`,
    );
  }
  if (!view.isArchived) return;
  throw new QuipuError(
    'READ_ONLY',
    `chat ${view.id} is archived; run "quipu chat unarchive" to write to it`,
    { path: eventsLog(view.id) },
  );
}

function tooBusy({ id, events }: ChatView): QuipuError<'HEAD_MOVED'> {
  return new QuipuError(
    'HEAD_MOVED',
    `other writers changed chat ${id} during every attempt; try again`,
    {
      context: id,
      expected: String(events),
      head: String(events),
    },
  );
}

/** One chat, with its reader and its writer. Every verb of a chat takes one. */
export interface ChatHandle {
  readonly home: ChatsHome;
  readonly view: ChatView;
  readonly writer: ChatWriter;
}
