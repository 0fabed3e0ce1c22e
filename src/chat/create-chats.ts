import { checkBoolean } from '../base/check-value.ts';
import { isQuipuError } from '../base/errors.ts';
import { LruCache } from '../base/lru-cache.ts';
import { checkLine } from '../base/text.ts';
import { forgetType, readTypes, registerType, metaChange, newMeta } from './events/documents.ts';
import { TITLE_CHARS_MAX } from './events/limits.ts';
import { checkId, eventsLog, metaDoc, segmentsLog, newId } from './events/names.ts';
import { Upcasters, type Upcaster } from './events/read-line.ts';
import { exportVerb } from './export/export-chat.ts';
import { importChat } from './export/import-chat.ts';
import { ChatView, chatExists, noChat } from './handle/chat-view.ts';
import { ChatWriter, type ChatHandle, type ChatsHome } from './handle/chat-writer.ts';
import type { Chat, ChatInfo, Chats, NewChat } from './handle/chats.ts';
import { listChats, readInfo, toInfo } from './handle/info.ts';
import { clarifyVerbs } from './messages/clarify-verbs.ts';
import { eventVerbs } from './messages/event-verbs.ts';
import { messageVerbs } from './messages/message-verbs.ts';
import { streamVerbs } from './messages/stream-verbs.ts';
import { writeVerbs } from './messages/write-verbs.ts';
import { archiveVerbs, retainChats } from './retention/archive.ts';
import { redactVerbs } from './retention/redact.ts';

/** The number of chats whose folds are kept in memory; others are read from the store. */
const VIEWS_MAX = 64;

export function createChats(
  parts: Omit<ChatsHome, 'upcasters'>,
  upcasters: readonly Upcaster[] = [],
): Chats {
  const home: ChatsHome = { ...parts, upcasters: new Upcasters(upcasters) };
  const { engine, lifetime } = home;
  const handles = new LruCache<string, ChatHandle>(VIEWS_MAX, () => 1);

  function handleOf(id: string): ChatHandle {
    const known = handles.get(id);
    if (known !== undefined) return known;
    const view = new ChatView(engine, id, home.upcasters);
    const writer = new ChatWriter(home, view);
    const handle: ChatHandle = { home, view, writer };
    handles.set(id, handle);
    return handle;
  }

  async function remove(id: string): Promise<void> {
    if ((await readInfo(engine, id)) === undefined) throw noChat(id);
    const names = [eventsLog(id), segmentsLog(id)];
    await engine.commit({
      logs: names.map((name) => ({ do: 'remove', name })),
      docs: [{ name: metaDoc(id), content: undefined }],
    });
    handles.delete(id);
  }

  const verbs: Omit<Chats, 'upcasting'> = {
    create: async (given = {}) => createChat(home, given),

    async open(id) {
      const handle = handleOf(checkId(id, 'id'));
      await handle.view.assertExists();
      return toChat(handle);
    },

    list: async (query = {}) => listChats(engine, query),

    remove: async (id) => remove(checkId(id, 'id')),

    import: async (document, given = {}) => importChat(home, document, given.id),

    async retain(policy, { dryRun = false } = {}) {
      const archive = async (id: string): Promise<void> => {
        await toChat(handleOf(id)).archive();
      };
      return retainChats(home, { policy, dryRun, archive, remove });
    },

    registerType: async (type, { about } = {}) => registerType(home, type, about),
    forgetType: async (type) => forgetType(engine, type),
    types: async () => readTypes(engine),
  };
  return {
    ...lifetime.guard('chats', verbs),
    upcasting: (more) => createChats(parts, more),
  };
}

function toChat(handle: ChatHandle): Chat {
  return handle.home.lifetime.guard('chat', {
    id: handle.view.id,
    ...eventVerbs(handle),
    ...messageVerbs(handle),
    ...writeVerbs(handle),
    ...streamVerbs(handle),
    ...clarifyVerbs(handle),
    ...redactVerbs(handle),
    ...exportVerb(handle),
    ...archiveVerbs(handle),
  });
}

async function createChat({ engine, clock }: ChatsHome, given: NewChat): Promise<ChatInfo> {
  const { title = '', pinned = false } = given;
  const id = given.id === undefined ? newId(clock()) : checkId(given.id, 'id');
  checkLine(title, 'title', TITLE_CHARS_MAX);
  checkBoolean(pinned, 'pinned');
  const meta = { ...newMeta(id, title, clock()), pinned };
  try {
    await engine.commit({ docs: [metaChange(meta, 0)] });
  } catch (error) {
    if (isQuipuError(error, 'HEAD_MOVED')) throw chatExists(id);
    throw error;
  }
  return toInfo(meta, { events: 0, bytes: 0 });
}
