// Broken on purpose: looks no further for events than the dispatch that started it.
import { readLock, removeLock } from '../../dist/queue/dispatch/consumer-lock.js';
import { runHandler } from '../../dist/queue/dispatch/run-handler.js';
import { queueFolder } from '../../dist/queue/folder.js';
import { findPending } from '../../dist/queue/scan.js';
import { QueueDatabase, compileStored } from '../../dist/queue/sqlite/queue-database.js';

const [path, , ...consumers] = process.argv.slice(2);
const folder = queueFolder(path);
const database = new QueueDatabase(folder.database);
database.exclusively(() => readLock(folder, consumers[0]));
for (const consumer of consumers) {
  const subscription = database.subscription(consumer);
  const seen = await findPending(database, subscription, compileStored(subscription), 1000);
  if (seen.first !== undefined) await runHandler(subscription, path, () => undefined);
  removeLock(folder, consumer);
}
