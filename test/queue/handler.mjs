// A consumer: pops until nothing is left, and notes every event it handles.
//   handler.mjs <folder for notes> [<probability of being killed at each page>]
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { queueFolder } from '../../dist/queue/sqlite/queue-folder.js';
import { SqliteQueue } from '../../dist/queue/sqlite-queue.js';

const [notes, deadly = '0'] = process.argv.slice(2);
const consumer = process.env.THREAD_CONSUMER;
const note = (name, text) => appendFileSync(join(notes, `${consumer}.${name}`), `${text}\n`);

/** Another one that runs now is what must never happen. */
const busy = join(notes, `${consumer}.busy`);
if (existsSync(busy) && isAlive(Number(readFileSync(busy, 'utf8')))) note('twice', process.pid);
writeFileSync(busy, String(process.pid));
note('runs', process.pid);

const queue = new SqliteQueue(queueFolder(process.env.THREAD_DIR), { wakes: false });
const { progress } = await queue.info();
let lastEventId = progress.find((row) => row.consumer_id === consumer).last_acked_id;
for (;;) {
  const limit = Number(process.env.PAGE ?? 10);
  const events = await queue.pop(consumer, { lastEventId, limit });
  if (events.length === 0) break;
  note('handled', events.map(({ id }) => id).join('\n'));
  await whileThere('halt', 'halted');
  if (Math.random() < Number(deadly)) process.kill(process.pid, 'SIGKILL');
  lastEventId = events.at(-1).id;
}
await queue.close();
await whileThere('hold', 'ending');
rmSync(busy);

/** Where a test wants to do something before a page is acknowledged, or at the very end. */
async function whileThere(name, noted) {
  if (!existsSync(join(notes, name))) return;
  note(noted, process.pid);
  while (existsSync(join(notes, name))) await setTimeout(5);
}

/** One that was killed may stay in the table of processes until its new parent has looked: that one runs no more. */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch (error) {
    // Without /proc the signal is all there is to go by.
    return error.code === 'ENOENT' && !existsSync('/proc/self');
  }
}
