import { onTestFinished } from 'vitest';
import type { Chat } from '../../src/chat/chats.ts';
import type { ChatMessage } from '../../src/chat/projections/message.ts';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';
import { ModelEngine } from '../../src/testing/model-engine.ts';
import type { ModelState } from '../../src/testing/model/model-state.ts';

export interface ChatRig {
  readonly engine: ModelEngine;
  readonly store: Store;
}

export function openRig(state?: ModelState, clock?: () => number): ChatRig {
  const engine = new ModelEngine(state === undefined ? {} : { state });
  const store = createStore(engine, clock === undefined ? {} : { clock });
  onTestFinished(() => store.close());
  return { engine, store };
}

/** The same data, read by someone who remembers nothing. */
export async function reopen({ engine }: ChatRig, id: string): Promise<Chat> {
  return openRig(engine.state).store.chats.open(id);
}

export async function newChat(rig: ChatRig, id = 'c1'): Promise<Chat> {
  await rig.store.chats.create({ id, title: 'talk' });
  return rig.store.chats.open(id);
}

export const eventsOf = (id: string): string => `chats/session-${id}.events.ndjson`;

export async function textsOf(chat: Chat, branch = 'main'): Promise<string[]> {
  const texts: string[] = [];
  let before: number | undefined;
  do {
    const page = await chat.messages({ branch, limit: 1000, ...(before && { before }) });
    texts.unshift(...page.messages.map(({ content }) => content));
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
