// Two agents that talk through queues. Start both, in any order and in two terminals:
//   node examples/queue-between-agents.mjs ./.quipu boss
//   node examples/queue-between-agents.mjs ./.quipu worker
// Kill either one at any time and start it again: no task is lost, and none is done twice.
import { openStore } from 'quipudb';

const [folder = './.quipu', role = 'boss'] = process.argv.slice(2);
const TASKS = ['read the log', 'find the cause', 'write a fix'];

const store = await openStore(folder);
const tasks = await store.queues.open('tasks');
const answers = await store.queues.open('answers');
const message = (source, content) => ({ source, type: 'message', content });

async function boss() {
  // A boss that was killed goes on with the tasks that it has not pushed.
  const { last_event_id: pushed } = await tasks.info();
  for (const task of TASKS.slice(pushed)) await tasks.push(message('boss', task));
  for await (const { id, content } of answers.follow()) {
    console.log(content);
    if (id === TASKS.length) return;
  }
}

async function worker() {
  // Each task gets one answer, in order: the last answer says where to continue.
  const { last_event_id: answered } = await answers.info();
  if (answered === TASKS.length) return;
  for await (const { id, content } of tasks.follow({ lastEventId: answered })) {
    await answers.push(message('worker', `${content}: done`));
    if (id === TASKS.length) return;
  }
}

await (role === 'worker' ? worker() : boss());
await store.close();
