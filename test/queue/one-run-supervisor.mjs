// Broken on purpose: runs the handler once and lets go, without looking whether there is more to do.
import { readLock, removeLock } from '../../dist/queue/dispatch/consumer-lock.js';
import { runHandler } from '../../dist/queue/dispatch/run-handler.js';
import { queueFolder } from '../../dist/queue/sqlite/queue-folder.js';
import { QueueDatabase } from '../../dist/queue/sqlite/queue-database.js';

const [path, token, consumer] = process.argv.slice(2);
const folder = queueFolder(path);
const database = new QueueDatabase(folder.database);
const note = database.exclusively(() => readLock(folder, consumer));
if (note?.token === token) {
  const { handler_cmd } = database.subscription(consumer);
  const env = { THREAD_DIR: path, THREAD_CONSUMER: consumer };
  await runHandler({ command: handler_cmd, folder: path, env }, () => undefined);
  removeLock(folder, consumer);
}
database.close();
