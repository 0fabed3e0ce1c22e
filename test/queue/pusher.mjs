// Pushes events one by one and says which ones were acknowledged.
//   pusher.mjs <folder> <count> <source>
import { queueFolder } from '../../dist/queue/folder.js';
import { SqliteQueue } from '../../dist/queue/sqlite-queue.js';

const [folder, count, source] = process.argv.slice(2);
const queue = new SqliteQueue(queueFolder(folder));
for (let number = 0; number < Number(count); number += 1) {
  const id = await queue.push({ source, type: 'message', content: `${source} ${number}` });
  process.stdout.write(`${id}\n`);
}
await queue.close();
