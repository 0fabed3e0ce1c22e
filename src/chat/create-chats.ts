import { LruCache } from '../base/lru-cache.ts';
import { attachVerb } from './messages/attach.ts';
import { archiveVerbs } from './retention/archive.ts';
import type { ChatHandle } from './chat-handle.ts';
import { ChatView, noChat } from './chat-view.ts';
import { ChatWriter } from './events/chat-writer.ts';
import type {
  Chat,
  ChatInfo,
  ChatList,
  ChatRetainReport,
  ChatRetention,
  Chats,
  NewChat,
} from './chats.ts';
import type { ChatsWorld } from './chats-world.ts';
import { changeVerbs } from './change-verbs.ts';
import { createChat } from './create-chat.ts';
import { clarifyVerbs } from './clarifications/clarify-verbs.ts';
import { eventVerbs } from './events/event-verbs.ts';
import { exportVerb } from './export/export-chat.ts';
import { importChat } from './export/import-chat.ts';
import { listChats, readInfo } from './list-chats.ts';
import { checkId, eventsLog, metaDoc, segmentsLog } from './names.ts';
import { messageVerbs } from './messages/message-verbs.ts';
import { redactVerbs } from './retention/redact.ts';
import { retainChats } from './retention/retain-chats.ts';
import { Upcasters } from './events/upcast.ts';
import type { Upcaster } from './events/upcast.ts';
import { writeVerbs } from './events/write-verbs.ts';

/** The number of chats whose folds are kept in memory; others are read from the store. */
const VIEWS_MAX = 64;

export function createChats(
  parts: Omit<ChatsWorld, 'upcasters'>,
  upcasters: readonly Upcaster[] = [],
): Chats {
  const world: ChatsWorld = { ...parts, upcasters: new Upcasters(upcasters) };
  const { engine, lifetime } = world;
  const handles = new LruCache<string, ChatHandle>(VIEWS_MAX, () => 1);

  function handleOf(id: string): ChatHandle {
    const known = handles.get(id);
    if (known !== undefined) return known;
    const view = new ChatView(engine, id, world.upcasters);
    const writer = new ChatWriter(world, view);
    const assertOpen = (what: string): void => lifetime.assertOpen(what);
    const handle: ChatHandle = { world, view, writer, assertOpen };
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

  return {
    async create(given: NewChat = {}): Promise<ChatInfo> {
      lifetime.assertOpen('chats.create');
      return createChat(world, given);
    },

    async open(id: string): Promise<Chat> {
      lifetime.assertOpen('chats.open');
      const handle = handleOf(checkId(id, 'id'));
      await handle.view.run(() => undefined);
      return toChat(handle);
    },

    async list(query = {}): Promise<ChatList> {
      lifetime.assertOpen('chats.list');
      return listChats(engine, query);
    },

    async remove(id: string): Promise<void> {
      lifetime.assertOpen('chats.remove');
      await remove(checkId(id, 'id'));
    },

    async import(document, given = {}): Promise<ChatInfo> {
      lifetime.assertOpen('chats.import');
      return importChat(world, document, given.id);
    },

    async retain(policy: ChatRetention, { dryRun = false } = {}): Promise<ChatRetainReport> {
      lifetime.assertOpen('chats.retain');
      const archive = async (id: string): Promise<void> => {
        await toChat(handleOf(id)).archive();
      };
      return retainChats(world, { policy, dryRun, archive, remove });
    },

    upcasting: (more) => createChats(parts, more),
  };
}

function toChat(handle: ChatHandle): Chat {
  return {
    id: handle.view.id,
    ...eventVerbs(handle),
    ...messageVerbs(handle),
    ...writeVerbs(handle),
    ...changeVerbs(handle),
    ...clarifyVerbs(handle),
    ...attachVerb(handle),
    ...redactVerbs(handle),
    ...exportVerb(handle),
    ...archiveVerbs(handle),
  };
}
