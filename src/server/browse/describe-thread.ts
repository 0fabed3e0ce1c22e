import { extractOf } from '../../search/text/extract.ts';
import type { Store } from '../../store/store.ts';

// One line about a thread. What is hidden or erased is not in it.

/** Longer payloads are not read for one line of them. */
const PAYLOAD_BYTES_MAX = 16_384;
/** A chat is folded for its open question; a long one takes too long for that. */
const CHAT_EVENTS_MAX = 1000;
const LINE_CHARS = 160;
const CHATS_KEPT = 1000;

/** The last message of a context. Undefined when there is nothing to show. */
export async function lastWords(store: Store, context: string): Promise<string | undefined> {
  try {
    const { turns } = await store.contexts.last(context, 1, { payload: PAYLOAD_BYTES_MAX });
    const turn = turns.at(-1);
    return turn?.payload === undefined
      ? undefined
      : toLine(extractOf(turn.type, turn.payload).texts);
  } catch {
    // A context that went away or cannot be read is still listed.
    return undefined;
  }
}

/** The open question of a chat, or what was said last in it. Remembers what it read until the chat grows. */
export class ChatLines {
  readonly #store: Store;
  readonly #known = new Map<string, string | undefined>();

  constructor(store: Store) {
    this.#store = store;
  }

  async of(id: string, events: number): Promise<string | undefined> {
    if (events > CHAT_EVENTS_MAX) return undefined;
    const key = `${id}/${events}`;
    if (this.#known.has(key)) return this.#known.get(key);
    const line = await this.#read(id).catch(() => undefined);
    if (this.#known.size >= CHATS_KEPT) this.#known.clear();
    this.#known.set(key, line);
    return line;
  }

  async #read(id: string): Promise<string | undefined> {
    const chat = await this.#store.chats.open(id);
    const { open } = (await chat.status()).clarification;
    const [question] = open?.questions ?? [];
    if (question !== undefined) return toLine([`Waiting for your answer: ${question.text}`]);
    const { messages } = await chat.messages({ limit: 1 });
    return toLine([messages.at(-1)?.content ?? '']);
  }
}

function toLine(texts: readonly string[]): string | undefined {
  const text = texts.join(' ').slice(0, LINE_CHARS * 8);
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line === '' ? undefined : line.slice(0, LINE_CHARS);
}
