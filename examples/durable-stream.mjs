// A job whose steps stand in a durable stream, written and read with the client of the protocol. End its process at any
// moment and start it again: it reads what is there, and goes on. Run a server, then this with its address:
//   quipu serve --store ./.quipu
//   node examples/durable-stream.mjs http://127.0.0.1:7410
import { setTimeout as sleep } from 'node:timers/promises';
import { DurableStream, IdempotentProducer } from '@durable-streams/client';

const [server = 'http://127.0.0.1:7410'] = process.argv.slice(2);
const url = `${server}/v1/streams/jobs/report`;
const STEPS = 5;

const { exists } = await DurableStream.head({ url });
const stream = exists
  ? await DurableStream.connect({ url })
  : await DurableStream.create({ url, contentType: 'application/json' });

// What a killed process had written is there. Reading with `live: false` stops at the end.
const done = await (await stream.stream({ live: false })).json();

// A page would read like this: from any position, while the job runs, and across restarts of the server.
const seen = [];
const reader = await stream.stream({ live: 'sse' });
reader.subscribeJson(async ({ items }) => {
  seen.push(...items.map(({ text }) => text));
});

if (done.length < STEPS) {
  // The producer counts its messages: one whose answer was lost is sent again, and stored once. Each process counts anew
  // in an epoch of its own, and what an earlier one still has on its way is refused.
  const producer = new IdempotentProducer(stream, 'report-writer', { epoch: done.length });
  for (let step = done.length + 1; step <= STEPS; step += 1) {
    await sleep(50);
    producer.append(JSON.stringify({ text: `finding ${step}` }));
    await producer.flush();
    console.log(`finding ${step}`);
  }
  await producer.detach();
}

// Readers learn that this was all. Closing twice is fine.
await stream.close();
await reader.closed;
console.log(`the reader saw ${seen.join(', ')}`);
