// Broken on purpose: says that an event is stored whatever SQLite answers, as a program does that does not wait for it.
//   careless-push.mjs <folder> <content>
import { queueFolder } from '../../dist/queue/sqlite/queue-folder.js';
import { QueueDatabase } from '../../dist/queue/sqlite/queue-database.js';

const [folder, content] = process.argv.slice(2);
try {
  const database = new QueueDatabase(queueFolder(folder).database);
  const event = { source: 'self', type: 'message', subtype: null, content };
  database.insert([event], new Date().toISOString(), 0);
} catch {
  // As if nothing had happened.
}
process.stdout.write('Pushed without care\n');
