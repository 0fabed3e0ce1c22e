import { openStore } from '../../src/index.ts';
import { median, timeEach } from '../figures.ts';
import type { Result, Trial } from './workload.ts';

const CHAT = 'long';
const BATCH = 5000;
const APPENDS = 100;
const DELTAS = 10_000;

/** A chat of `size` messages, without waiting for the disk. */
export async function growChat(trial: Trial): Promise<Result> {
  const store = await openStore(trial.folder, { durability: 'unsafe' });
  await store.chats.create({ id: CHAT });
  const chat = await store.chats.open(CHAT);
  const content = 'x'.repeat(trial.payloadBytes);
  for (let at = 0; at < trial.size; at += BATCH) {
    const count = Math.min(BATCH, trial.size - at);
    await chat.append(
      Array.from({ length: count }, (_, n) => ({
        type: 'message_added',
        payload: { message_id: `m${at + n}`, role: 'user', content },
      })),
    );
  }
  await chat.status();
  await store.close();
  return {};
}

/** Opens that chat in a process that did not see it, appends, and streams. */
export async function useChat(trial: Trial): Promise<Result> {
  const store = await openStore(trial.folder, { create: false });
  // The code is loaded with the first call, whatever the chat's length.
  await store.chats.list();
  const start = performance.now();
  const chat = await store.chats.open(CHAT);
  const openMs = performance.now() - start;
  await chat.messages({ limit: 50 });
  const pageMs = performance.now() - start;
  const taken = await timeEach(APPENDS, () => chat.add({ role: 'user', content: 'one more' }));
  const before = (await chat.status()).events;
  const streaming = performance.now();
  const stream = await chat.stream({ role: 'assistant' });
  for (let n = 0; n < DELTAS; n += 1) {
    void stream.write('word ');
    if (n % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await stream.complete();
  const streamMs = performance.now() - streaming;
  const commits = (await chat.status()).events - before;
  await store.close();
  return { openMs, pageMs, appendMs: median(taken), commitsPer20Ms: (commits * 20) / streamMs };
}
