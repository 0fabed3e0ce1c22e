// What a process does with queues, for the crash explorer: makes them, pushes, copies, and says what it acknowledged.
//   crash-workload.mjs <folder>
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { queueFolder } from '../../dist/queue/sqlite/queue-folder.js';
import { createQueueFolder } from '../../dist/queue/sqlite/open-database.js';
import { createQueues } from '../../dist/queue/sqlite-queue.js';
import { copyQueues } from '../../dist/queue/upkeep/queue-health.js';
import { SqliteQueue } from '../../dist/queue/sqlite-queue.js';

const [root = ''] = process.argv.slice(2);
let number = 0;

/** Written with one call, so that it stands in the trace behind all that happened before it. */
function acknowledge(path, id, content) {
  writeSync(1, `${JSON.stringify({ path, id, content })}\n`);
}

async function push(queue, path, count = 1) {
  for (let round = 0; round < count; round += 1) {
    const content = `event ${(number += 1)}`;
    acknowledge(path, await queue.push({ source: 's', type: 'message', content }), content);
  }
}

// A store's first queue, and its second; each is closed and opened again.
const parent = join(root, 'store', 'queues');
for (const name of ['inbox', 'outbox', 'inbox']) {
  const queues = createQueues(parent, { wakes: false });
  await push(await queues.open(name), join('store', 'queues', name), 3);
  await queues.close();
}

// A thread some folders down. Who looked first made the log that the other one writes to.
const path = join('a', 'b', 'thread');
createQueueFolder(join(root, path));
const [first, second] = [1, 2].map(
  () => new SqliteQueue(queueFolder(join(root, path)), { wakes: false }),
);
await first.peek({ lastEventId: 0 });
await push(second, path, 2);
await push(first, path);
await Promise.all([first.close(), second.close()]);

await copyQueues(parent, join(root, 'backup', 'queues'));
const copied = createQueues(parent, { wakes: false });
for (const name of ['inbox', 'outbox']) {
  for (const { id, content } of await (await copied.open(name)).peek({ lastEventId: 0 })) {
    acknowledge(join('backup', 'queues', name), id, content);
  }
}
await copied.close();
