// A chat of the AI SDK whose messages and streams are in a store. End its process at any moment and start it again: the
// answer that was cut off is generated again, as a branch, and the chat goes on. Run it with the folder of a store:
// node examples/ai-sdk-chat.mjs ./.quipu
//
// A program names a model of a provider. Here a script stands in for the model, so that no key is needed.
import { setTimeout as sleep } from 'node:timers/promises';
import { convertToModelMessages, generateId, streamText } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { openStore } from 'quipudb';
import { QuipuChats } from 'quipudb/ai-sdk';

const store = await openStore(process.argv[2] ?? './.quipu');
const chats = new QuipuChats(store);
const id = 'report';

/** In the place of a model: says `finding 1`, then `finding 2`. */
const model = new MockLanguageModelV3({
  doStream: async ({ prompt }) => {
    const number = prompt.filter(({ role }) => role === 'assistant').length + 1;
    async function* parts() {
      yield { type: 'text-start', id: 't' };
      yield { type: 'text-delta', id: 't', delta: 'finding ' };
      yield { type: 'text-delta', id: 't', delta: String(number) };
      await sleep(50);
      console.log(`finding ${number}`);
      await sleep(50);
      yield { type: 'text-end', id: 't' };
      yield {
        type: 'finish',
        finishReason: { unified: 'stop' },
        usage: { inputTokens: {}, outputTokens: {} },
      };
    }
    return { stream: ReadableStream.from(parts()) };
  },
});

// An answer that a dead process has begun is still there: a page shows it, and this program generates it again.
let messages = await chats.load(id);
const wasCutOff = (await chats.resume(id)) !== null;
if (wasCutOff && messages.at(-1).role === 'assistant') {
  messages = await chats.rewind(id, messages.at(-1).id);
}

while (messages.filter(({ role }) => role === 'assistant').length < 5) {
  if (messages.at(-1)?.role !== 'user') {
    const text = messages.length === 0 ? 'Write a report.' : 'Go on.';
    messages.push({ id: generateId(), role: 'user', parts: [{ type: 'text', text }] });
    await chats.save(id, messages);
  }
  const result = streamText({ model, messages: await convertToModelMessages(messages) });
  const chunks = result.toUIMessageStream({ originalMessages: messages });
  // A server sends this stream: createUIMessageStreamResponse({ stream }).
  const stream = await chats.stream(id, chunks);
  await stream.pipeTo(new WritableStream());
  messages = await chats.load(id);
}

const texts = messages.map(({ parts }) => parts.map(({ text }) => text ?? '').join(''));
console.log(texts.filter((text) => text !== 'Go on.').join(', '));
await store.close();
