// A consumer: pops until nothing is left, and notes every event it handles.
//   handler.mjs <folder for notes>
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Database } from '../../../dist/postgres/database.js';
import { createPostgresQueues } from '../../../dist/queue/postgres/postgres-queue.js';

const [notes] = process.argv.slice(2);
const { URL: url, QUIPU_QUEUE, QUIPU_CONSUMER: consumer, QUIPU_FENCE } = process.env;
const note = (name, text) => appendFileSync(join(notes, `${consumer}.${name}`), `${text}\n`);

/** Another one that runs now is what must never happen. */
const busy = join(notes, `${consumer}.busy`);
if (existsSync(busy) && isAlive(Number(readFileSync(busy, 'utf8')))) note('twice', process.pid);
writeFileSync(busy, String(process.pid));

const database = new Database(url, { connections: 1 });
const queues = createPostgresQueues(database);
const queue = await queues.open(QUIPU_QUEUE, { create: false });
const fence = Number(QUIPU_FENCE);
const { progress } = await queue.info();
let lastEventId = progress.find((row) => row.consumer_id === consumer).last_acked_id;
for (;;) {
  const events = await queue.pop(consumer, { lastEventId, limit: 20, fence });
  if (events.length === 0) break;
  for (const event of events) note('handled', event.id);
  await setTimeout(20);
  lastEventId = events.at(-1).id;
}
await queues.close();
await database.close();
writeFileSync(busy, '0');

function isAlive(pid) {
  if (pid === 0) return false;
  try {
    process.kill(pid, 0);
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
