import { orNothing } from '../base/errors.ts';
import { eachName } from '../engine/names.ts';
import type { Engine } from '../engine/engine.ts';
import type { TextChange, TextDocument, TextPage, TextSource } from '../engine/texts.ts';
import type { ChatEvent } from './events/event.ts';
import { chatOfEvents, chatOfMeta, META_PREFIX } from './events/names.ts';
import type { Chat, Chats, EventPage } from './handle/chats.ts';
import type { ChatMessage } from './projections/message-part.ts';

// The texts of chats: messages as they are now, and questions with their answers. The mark of a chat is the number of
// its events that were read. An event about a message makes it read again, so an edit or a redaction reaches the index
// as it reaches a reader.

const PAGE_EVENTS = 256;
/** Stands before the number of an event with questions or answers. Ids of messages have no such character. */
const EVENT = '#';

export function chatTexts(engine: Engine, chats: Pick<Chats, 'open'>): TextSource {
  const changed = new Set<string>();
  let isMissed = true;

  const openChat = (id: string): Promise<Chat | undefined> =>
    orNothing(() => chats.open(id), 'NOT_FOUND', 'INVALID', 'CORRUPT');

  const note = (name: string): void => {
    const id = chatOfEvents(name) ?? chatOfMeta(name);
    if (id !== undefined) changed.add(id);
  };

  return {
    kind: 'chat',
    hear({ logs, docs, removedLogs, removedDocs }) {
      for (const { name } of logs) note(name);
      for (const { name } of docs) note(name);
      for (const name of removedLogs) note(name);
      for (const name of removedDocs) note(name);
    },
    miss() {
      isMissed = true;
    },

    async *read(marks) {
      if (isMissed) {
        isMissed = false;
        const stored = eachName((limit, after) => engine.listDocs(META_PREFIX, limit, after));
        for await (const name of stored) note(name);
        const known = eachName((limit, after) => marks.list(limit, after));
        for await (const id of known) changed.add(id);
      }
      const ids = [...changed];
      changed.clear();
      for (const [at, id] of ids.entries()) {
        const chat = await openChat(id);
        const progress = { done: at + 1, total: ids.length };
        if (chat !== undefined) yield* readChat(chat, Number((await marks.get(id)) ?? 0), progress);
        else if ((await marks.get(id)) !== undefined) yield { ...removal(id), ...progress };
      }
    },

    load: (documents) =>
      Promise.all(
        documents.map(async ({ thread, ref }) => {
          const chat = await openChat(thread);
          return chat && loadDocument(chat, ref);
        }),
      ),

    async around(thread, ref, count) {
      const chat = await openChat(thread);
      const found = await chat?.message(ref);
      if (chat === undefined || found === undefined) return [];
      const before = await chat.messages({ branch: '*', before: found.seq, limit: count });
      const behind = await messagesBehind(chat, found.seq, count);
      return [...before.messages, found, ...behind].flatMap(
        (message) => toDocument(thread, message) ?? [],
      );
    },

    gone: () => Promise.resolve([]),
    shows: (thread, document) => Promise.resolve(thread === document.thread),
  };
}

function removal(id: string): Pick<TextPage, 'changes' | 'marks'> {
  return { changes: [{ removeThread: id }], marks: [[id, undefined]] };
}

async function* readChat(
  chat: Chat,
  mark: number,
  progress: Pick<TextPage, 'done' | 'total'>,
): AsyncGenerator<TextPage> {
  // A chat with fewer events than were read is another one of the same name.
  const { events } = await chat.status();
  if (events < mark) yield { ...removal(chat.id), ...progress };
  let after = events < mark ? 0 : mark;
  for await (const page of eventPages(chat, after)) {
    const refs = new Set(page.events.flatMap(refsOf));
    for (const event of page.events)
      for (const ref of await refsOfBatch(chat, event)) refs.add(ref);
    const changes: TextChange[] = [];
    for (const ref of refs) changes.push(await readDocument(chat, ref));
    const end = page.next ?? events;
    if (end > after || changes.length > 0) {
      yield { changes, marks: [[chat.id, String(end)]], ...progress };
    }
    after = end;
  }
}

async function* eventPages(chat: Chat, from: number): AsyncGenerator<EventPage> {
  for (let after: number | undefined = from; after !== undefined;) {
    const page: EventPage = await chat.events({ after, limit: PAGE_EVENTS });
    yield page;
    after = page.next;
  }
}

function refsOf({ type, seq, payload }: ChatEvent): string[] {
  if (type.startsWith('clarification_')) return [`${EVENT}${seq}`];
  const id = payload['message_id'];
  return typeof id === 'string' ? [id] : [];
}

/** The events of a batch of questions that was redacted. */
async function refsOfBatch(chat: Chat, { type, seq, payload }: ChatEvent): Promise<string[]> {
  const refs: string[] = [];
  if (type !== 'clarification_batch_redacted') return refs;
  for await (const { events, next = seq } of eventPages(chat, 0)) {
    for (const event of events) {
      if (event.seq < seq && event.payload['batch_id'] === payload['batch_id'])
        refs.push(`${EVENT}${event.seq}`);
    }
    if (next >= seq) break;
  }
  return refs;
}

async function readDocument(chat: Chat, ref: string): Promise<TextChange> {
  const document = await loadDocument(chat, ref);
  return document === undefined ? { remove: { thread: chat.id, ref } } : { put: document };
}

async function loadDocument(chat: Chat, ref: string): Promise<TextDocument | undefined> {
  if (ref.startsWith(EVENT)) return loadEvent(chat, Number(ref.slice(EVENT.length)));
  const message = await chat.message(ref);
  const document = message && toDocument(chat.id, message);
  if (document === undefined) return undefined;
  const [begun] = (await chat.events({ after: document.depth - 1, limit: 1 })).events;
  const model = begun?.payload['model'];
  return typeof model === 'string' ? { ...document, model } : document;
}

async function loadEvent(chat: Chat, seq: number): Promise<TextDocument | undefined> {
  if (!Number.isSafeInteger(seq) || seq < 1) return undefined;
  const [event] = (await chat.events({ after: seq - 1, limit: 1 })).events;
  if (event === undefined) return undefined;
  const { title, questions, answers, erased } = event.payload;
  if (erased === true) return undefined;
  const ref = `${EVENT}${seq}`;
  return {
    thread: chat.id,
    ref,
    depth: seq,
    at: Date.parse(event.at) || 0,
    type: event.type,
    value: [title, questions, answers],
  };
}

function toDocument(thread: string, message: ChatMessage): TextDocument | undefined {
  if (message.redacted !== undefined) return undefined;
  const { id, seq, role, content, attachments } = message;
  return {
    thread,
    ref: id,
    depth: seq,
    at: Date.parse(message.at) || 0,
    type: 'message',
    role,
    value: [content, ...attachments.map(({ name }) => name)],
  };
}

const LOOKED_EVENTS = 200;

/** The next messages that began after this event. */
async function messagesBehind(chat: Chat, seq: number, count: number): Promise<ChatMessage[]> {
  const { events } = await chat.events({ after: seq, limit: LOOKED_EVENTS });
  const found: ChatMessage[] = [];
  for (const id of new Set(events.flatMap(refsOf))) {
    if (found.length >= count) break;
    const message = id.startsWith(EVENT) ? undefined : await chat.message(id);
    if (message !== undefined && message.seq > seq) found.push(message);
  }
  return found;
}
