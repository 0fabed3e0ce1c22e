import type { Chat } from '../../chat/handle/chats.ts';

// A chat with texts that must go, in every place where a chat keeps any.

const noise = (seed: number, length: number): string => {
  let [text, state] = ['', seed];
  while (text.length < length) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    text += state.toString(36);
  }
  return text.slice(0, length);
};

export const SECRETS: Readonly<
  Record<'added' | 'delta' | 'completed' | 'edited' | 'heavy' | 'file' | 'name', string>
> = {
  added: noise(1, 40),
  delta: noise(2, 30),
  completed: noise(3, 50),
  edited: noise(4, 45),
  heavy: noise(5, 60_000),
  file: noise(6, 5000),
  name: noise(7, 30),
};

export async function fill(chat: Chat): Promise<void> {
  await chat.add({ role: 'user', content: 'stays', id: 'k1' });
  await chat.add({ role: 'user', content: SECRETS.added, id: 's' });
  await chat.edit('s', SECRETS.edited);
  const stream = await chat.stream({ role: 'assistant', id: 'st' });
  await stream.write(SECRETS.delta);
  await stream.complete(SECRETS.completed);
  await chat.add({ role: 'tool', content: SECRETS.heavy, id: 'h' });
  await chat.attach(new TextEncoder().encode(SECRETS.file), { name: SECRETS.name, message: 'h' });
  await chat.add({ role: 'user', content: 'stays too', id: 'k2' });
}

export const REASON = { reason: 'it was private', erase: true } as const;
