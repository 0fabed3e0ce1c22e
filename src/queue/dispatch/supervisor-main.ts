import process from 'node:process';
import { mustBeQueue } from '../sqlite/queue-folder.ts';
import { QueueDatabase } from '../sqlite/queue-database.ts';
import { RuntimeLog } from '../sqlite/runtime-log.ts';
import { readLock } from './consumer-lock.ts';
import { RETRY_POLICY } from './run-handler.ts';
import { superviseConsumer } from './supervise.ts';

// The program that `dispatch` starts: runs handlers until there is nothing left to handle, and ends.
//   supervisor-main <folder> <token> <consumer>…

const [path = '', token = '', ...consumers] = process.argv.slice(2);
const folder = mustBeQueue(path);
const database = new QueueDatabase(folder.database);
const log = new RuntimeLog(folder, database, Date.now);
const queue = { folder, database, log, retry: RETRY_POLICY, clock: Date.now };

// The process that started this one holds the write lock until it has written the locks of the consumers.
const notes = database.exclusively(() =>
  consumers.map((consumer) => ({ consumer, note: readLock(folder, consumer) })),
);
await Promise.all(
  notes
    .filter(({ note }) => note?.token === token)
    .map(({ consumer, note }) =>
      superviseConsumer(queue, consumer, {
        token,
        ...(note?.handler !== undefined && { orphan: note.handler }),
      }),
    ),
);
database.close();
