// Broken on purpose: runs the handlers of its consumers one after the other.
import { readLock, removeLock } from '../../dist/queue/dispatch/consumer-lock.js';
import { runHandler } from '../../dist/queue/dispatch/run-handler.js';
import { queueFolder } from '../../dist/queue/sqlite/queue-folder.js';
import { QueueDatabase } from '../../dist/queue/sqlite/queue-database.js';

const [path, token, ...consumers] = process.argv.slice(2);
const folder = queueFolder(path);
const database = new QueueDatabase(folder.database);
database.exclusively(() => readLock(folder, consumers[0]));
for (const consumer of consumers) {
  if (readLock(folder, consumer)?.token !== token) continue;
  const { handler_cmd } = database.subscription(consumer);
  const env = { THREAD_DIR: path, THREAD_CONSUMER: consumer };
  await runHandler({ command: handler_cmd, folder: path, env }, () => undefined);
  removeLock(folder, consumer);
}
