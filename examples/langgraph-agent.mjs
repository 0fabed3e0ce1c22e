// An agent of LangGraph whose state is in a store. End its process at any moment and start it again: the agent goes on
// with the step that was not done. Run it with the folder of a store: node examples/langgraph-agent.mjs ./.quipu
import { setTimeout as sleep } from 'node:timers/promises';
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import { openStore } from 'quipudb';
import { QuipuSaver } from 'quipudb/langgraph';

const store = await openStore(process.argv[2] ?? './.quipu');

/** In the place of a model. */
async function think(messages) {
  await sleep(100);
  return `finding ${messages.length}`;
}

const State = Annotation.Root({
  messages: Annotation({ reducer: (old, added) => [...old, ...added], default: () => [] }),
});
const graph = new StateGraph(State)
  .addNode('agent', async ({ messages }) => {
    const answer = await think(messages);
    console.log(answer);
    return { messages: [answer] };
  })
  .addEdge(START, 'agent')
  .addConditionalEdges('agent', ({ messages }) => (messages.length < 6 ? 'agent' : END))
  .compile({ checkpointer: new QuipuSaver(store) });

const config = { configurable: { thread_id: 'report' } };
const { createdAt } = await graph.getState(config);
const input = createdAt === undefined ? { messages: ['Write a report.'] } : null;
const { messages } = await graph.invoke(input, config);
console.log(messages.join(', '));
await store.close();
