// Broken on purpose: looks no further for events than the dispatch that started it.
import { readLock, removeLock } from '../../dist/queue/dispatch/consumer-lock.js';
import { runHandler } from '../../dist/queue/dispatch/run-handler.js';
import { queueFolder } from '../../dist/queue/sqlite/queue-folder.js';
import { findPending } from '../../dist/queue/events/scan.js';
import { QueueDatabase, compileStored } from '../../dist/queue/sqlite/queue-database.js';

const [path, , ...consumers] = process.argv.slice(2);
const folder = queueFolder(path);
const database = new QueueDatabase(folder.database);
database.exclusively(() => readLock(folder, consumers[0]));
for (const consumer of consumers) {
  const subscription = database.subscription(consumer);
  const known = database.known(consumer);
  const seen = await findPending(database, compileStored(subscription), known, { reach: 1000 });
  const env = { THREAD_DIR: path, THREAD_CONSUMER: consumer };
  const run = { command: subscription.handler_cmd, folder: path, env };
  if (seen.first !== undefined) await runHandler(run, () => undefined);
  removeLock(folder, consumer);
}
