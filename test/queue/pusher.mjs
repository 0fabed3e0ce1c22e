// Pushes events one by one and says which ones were acknowledged.
//   pusher.mjs <folder> <count> <source> [early]
import { queueFolder } from '../../dist/queue/sqlite/queue-folder.js';
import { SqliteQueue } from '../../dist/queue/sqlite-queue.js';

const [folder, count, source, early] = process.argv.slice(2);
const queue = new SqliteQueue(queueFolder(folder));
for (let number = 0; number < Number(count); number += 1) {
  // Broken on purpose: says it before it is true, and is killed between the two.
  if (early) process.stdout.write(`${number + 1}\n`);
  if (early && number === 20) process.kill(process.pid, 'SIGKILL');
  const id = await queue.push({ source, type: 'message', content: `${source} ${number}` });
  if (!early) process.stdout.write(`${id}\n`);
}
await queue.close();
