// Broken on purpose: takes the end of the shell for the end of the handler.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readLock, removeLock } from '../../dist/queue/dispatch/consumer-lock.js';
import { queueFolder } from '../../dist/queue/sqlite/queue-folder.js';
import { QueueDatabase } from '../../dist/queue/sqlite/queue-database.js';

const [path, token, consumer] = process.argv.slice(2);
const folder = queueFolder(path);
const database = new QueueDatabase(folder.database);
const note = database.exclusively(() => readLock(folder, consumer));
if (note?.token === token) {
  const { handler_cmd } = database.subscription(consumer);
  await once(spawn(handler_cmd, { shell: true, detached: true, stdio: 'ignore' }), 'exit');
  removeLock(folder, consumer);
}
