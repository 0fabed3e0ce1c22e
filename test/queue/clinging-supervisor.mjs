// Broken on purpose: takes what left for a session of its own for the handler, and makes the folder again when it is gone.
import { mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { readLock, removeLock } from '../../dist/queue/dispatch/consumer-lock.js';
import { runHandler } from '../../dist/queue/dispatch/run-handler.js';
import { queueFolder } from '../../dist/queue/sqlite/queue-folder.js';
import { QueueDatabase } from '../../dist/queue/sqlite/queue-database.js';

const [path, token, consumer] = process.argv.slice(2);
const folder = queueFolder(path);
const database = new QueueDatabase(folder.database);
const note = database.exclusively(() => readLock(folder, consumer));

function isOfQueue(pid) {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`CLINGS_TO=${path}\0`);
  } catch {
    return false;
  }
}

if (note?.token === token) {
  const { handler_cmd } = database.subscription(consumer);
  const env = { CLINGS_TO: path };
  await runHandler({ command: handler_cmd, folder: path, env }, () => undefined);
  while (readdirSync('/proc').some((name) => isOfQueue(name))) await setTimeout(20);
  mkdirSync(folder.logs, { recursive: true });
  removeLock(folder, consumer);
}
