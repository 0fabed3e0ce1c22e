import type { Chat } from '../../chat/handle/chats.ts';
import type { ChatMessage } from '../../chat/projections/message-part.ts';
import { openBeside, type StoreRig } from '../store-suite/fixture.ts';

/** Opens the chat again, as a reader that remembers nothing. */
export async function reopen(rig: StoreRig, id: string): Promise<Chat> {
  return (await openBeside(rig)).store.chats.open(id);
}

export async function newChat(rig: StoreRig, id: string = 'c1'): Promise<Chat> {
  await rig.store.chats.create({ id, title: 'talk' });
  return rig.store.chats.open(id);
}

export const eventsOf = (id: string): string => `chats/session-${id}.events.ndjson`;

export async function textsOf(chat: Chat, branch: string = 'main'): Promise<string[]> {
  const texts: string[] = [];
  let before: number | undefined;
  do {
    const page = await chat.messages({ branch, limit: 1000, ...(before && { before }) });
    const read = page.messages.filter(({ damaged }) => damaged === undefined);
    texts.unshift(...read.map(({ content }) => content));
    ({ before } = page);
  } while (before !== undefined);
  return texts;
}

export async function join(pieces: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
}

export function brief({ id, role, content }: ChatMessage): string {
  return `${id} ${role}: ${content}`;
}
