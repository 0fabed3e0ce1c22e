// Dispatches when a gate opens and says whom it started.
//   dispatcher.mjs <folder> <supervisor> <gate> [unlocked]
// `unlocked` is the number of dispatchers that all look at the locks before one of them starts a handler.
import childProcess from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { queueFolder } from '../../dist/queue/sqlite/queue-folder.js';
import { SqliteQueue } from '../../dist/queue/sqlite-queue.js';
import { QueueDatabase } from '../../dist/queue/sqlite/queue-database.js';

const [folder, supervisor, gate, unlocked] = process.argv.slice(2);
if (unlocked) {
  // Broken on purpose: looks at the locks and writes them without keeping others out meanwhile.
  QueueDatabase.prototype.exclusively = (work) => work();
  const { spawn } = childProcess;
  childProcess.spawn = (...args) => {
    meetOthers();
    return spawn(...args);
  };
  syncBuiltinESMExports();
}

function meetOthers() {
  writeFileSync(`${gate}.met.${process.pid}`, '');
  const isThere = (name) => name.includes('.met.');
  const never = new Int32Array(new SharedArrayBuffer(4));
  while (existsSync(gate) && readdirSync(dirname(gate)).filter(isThere).length < Number(unlocked)) {
    Atomics.wait(never, 0, 0, 5);
  }
}

const queue = new SqliteQueue(queueFolder(folder), { supervisor, wakes: false });
await queue.peek({ lastEventId: 0 });
writeFileSync(`${gate}.${process.pid}`, '');
while (!existsSync(gate)) await setTimeout(1);
const { started } = await queue.dispatch();
process.stdout.write(`${started.join(' ')}\n`);
await queue.close();
