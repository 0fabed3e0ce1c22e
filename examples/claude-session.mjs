// A session of the Claude Agent SDK in a store. End the process at any moment and start it again: it goes on after the
// last entry that was stored. Run it with the folder of a store: node examples/claude-session.mjs ./.quipu
//
// The SDK calls a session store like this by itself: query({ prompt, options: { sessionStore } }). Here a script stands
// in for the model, so that no key is needed.
import { setTimeout as sleep } from 'node:timers/promises';
import { getSessionMessages } from '@anthropic-ai/claude-agent-sdk';
import { openStore } from 'quipudb';
import { QuipuSessionStore } from 'quipudb/claude-agent';

const store = await openStore(process.argv[2] ?? './.quipu');
const sessionStore = new QuipuSessionStore(store);
const sessionId = '3b0f4c0e-0c5e-4d49-9f0a-5f2d3c1b7a10';
const dir = '/report';
const key = { projectKey: '-report', sessionId };

/** In the place of a model. */
async function think(messages) {
  await sleep(100);
  return `finding ${messages.length}`;
}

const entryOf = (role, text, number, parentUuid) => ({
  type: role,
  uuid: `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`,
  parentUuid,
  sessionId,
  timestamp: new Date().toISOString(),
  message: { role, content: text },
});

let entries = (await sessionStore.load(key)) ?? [];
if (entries.length === 0) {
  entries = [entryOf('user', 'Write a report.', 0, null)];
  await sessionStore.append(key, entries);
}
while (entries.length < 6) {
  const answer = await think(entries);
  console.log(answer);
  const entry = entryOf('assistant', answer, entries.length, entries.at(-1).uuid);
  await sessionStore.append(key, [entry]);
  entries.push(entry);
}

const messages = await getSessionMessages(sessionId, { dir, sessionStore });
console.log(messages.map(({ message }) => message.content).join(', '));
await store.close();
