// A chat agent with a memory: node examples/chat-agent.mjs ./.quipu "Why does it fail?"
// Each run adds a question and an answer to the same conversation. A script stands in for the model, so no key is needed.
import { openStore } from 'quipudb';

const [folder = './.quipu', question = 'Hello?'] = process.argv.slice(2);
const store = await openStore(folder);
const chat = await store.contexts.getOrCreate('chats/demo', { title: 'A chat' });

/** Replace this with a call of your model. It gets the history and yields the answer piece by piece. */
async function* model(messages) {
  yield `You have asked ${messages.filter(({ role }) => role === 'user').length} questions. `;
  yield `The last one was: ${messages.at(-1).text}`;
}

const message = (role, text) => ({ type: 'chat.message', payload: { role, text } });
await store.contexts.append(chat.id, message('user', question));

// The last turns are the context window of the model.
const { turns } = await store.contexts.last(chat.id, 20);
const history = turns.map(({ payload }) =>
  typeof payload === 'string' ? { role: 'assistant', text: payload } : payload,
);

// The answer is durable while it arrives: after a crash, everything that was acknowledged is there.
const answer = await store.contexts.open(chat.id, { type: 'chat.answer' });
for await (const piece of model(history)) {
  process.stdout.write(piece);
  await answer.write(piece);
}
await answer.seal();
process.stdout.write('\n');
await store.close();
