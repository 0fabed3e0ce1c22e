// Dispatches when a gate opens and says whom it started.
//   dispatcher.mjs <folder> <supervisor> <gate> [unlocked]
import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { queueFolder } from '../../dist/queue/folder/queue-folder.js';
import { SqliteQueue } from '../../dist/queue/sqlite-queue.js';
import { QueueDatabase } from '../../dist/queue/sqlite/queue-database.js';

const [folder, supervisor, gate, unlocked] = process.argv.slice(2);
// Broken on purpose: looks at the locks and writes them without keeping others out meanwhile.
if (unlocked) QueueDatabase.prototype.exclusively = (work) => work();
const queue = new SqliteQueue(queueFolder(folder), { supervisor, wakes: false });
await queue.peek({ lastEventId: 0 });
writeFileSync(`${gate}.${process.pid}`, '');
while (!existsSync(gate)) await setTimeout(1);
const { started } = await queue.dispatch();
process.stdout.write(`${started.join(' ')}\n`);
await queue.close();
