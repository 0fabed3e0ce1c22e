// An agent of the OpenAI Agents SDK whose session is in a store. End its process at any moment and start it again: the
// agent goes on after the last run that was stored. Run it with the folder of a store:
// node examples/openai-agents.mjs ./.quipu
//
// A program imports Agent and run from '@openai/agents' and names a model. Here a script stands in for the model, so
// that no key is needed.
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, Runner, Usage } from '@openai/agents-core';
import { openStore } from 'quipudb';
import { QuipuSession } from 'quipudb/openai-agents';

const store = await openStore(process.argv[2] ?? './.quipu');
const session = new QuipuSession(store, { sessionId: 'report' });

/** In the place of a model. */
const model = {
  async getResponse({ input }) {
    await sleep(100);
    const text = `finding ${input.filter(({ role }) => role === 'assistant').length + 1}`;
    console.log(text);
    const content = [{ type: 'output_text', text }];
    const message = { type: 'message', role: 'assistant', status: 'completed', content };
    return { usage: new Usage(), output: [message] };
  },
};

const agent = new Agent({ name: 'Reporter', instructions: 'You write reports.', model });
const runner = new Runner({ tracingDisabled: true });

let items = await session.getItems();
while (items.filter(({ role }) => role === 'assistant').length < 5) {
  const prompt = items.length === 0 ? 'Write a report.' : 'Go on.';
  await runner.run(agent, prompt, { session });
  items = await session.getItems();
}

const texts = items.map(({ content }) => (typeof content === 'string' ? content : content[0].text));
console.log(texts.filter((text) => text !== 'Go on.').join(', '));
await store.close();
