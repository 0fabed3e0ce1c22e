// An agent of the Claude Agent SDK whose session is in a store. End its process at any moment and start it again: the
// agent resumes the session from the store. Run it with the folder of a store:
// node examples/claude-session.mjs ./.quipu
//
// A program leaves `pathToClaudeCodeExecutable` out. Here a script stands in for Claude Code, so that no key is needed.
import { fileURLToPath } from 'node:url';
import { getSessionMessages, query } from '@anthropic-ai/claude-agent-sdk';
import { openStore } from 'quipudb';
import { QuipuSessionStore } from 'quipudb/claude-agent';

const store = await openStore(process.argv[2] ?? './.quipu');
const sessionStore = new QuipuSessionStore(store);
const sessionId = '3b0f4c0e-0c5e-4d49-9f0a-5f2d3c1b7a10';
const cwd = process.cwd();
const pathToClaudeCodeExecutable = fileURLToPath(new URL('./scripted-claude.mjs', import.meta.url));

const textOf = ({ content }) => (typeof content === 'string' ? content : content[0].text);

let messages = await getSessionMessages(sessionId, { dir: cwd, sessionStore });
while (messages.filter(({ type }) => type === 'assistant').length < 5) {
  const isNew = messages.length === 0;
  const session = isNew ? { sessionId } : { resume: sessionId };
  const options = { sessionStore, cwd, pathToClaudeCodeExecutable, ...session };
  for await (const { type, message } of query({
    prompt: isNew ? 'Write a report.' : 'Go on.',
    options,
  })) {
    if (type === 'assistant') console.log(textOf(message));
  }
  messages = await getSessionMessages(sessionId, { dir: cwd, sessionStore });
}

const texts = messages.map(({ message }) => textOf(message));
console.log(texts.filter((text) => text !== 'Go on.').join(', '));
await store.close();
