import process from 'node:process';
import { mustBeQueue } from '../../queue/folder/queue-folder.ts';
import { SqliteQueue } from '../../queue/sqlite-queue.ts';
import { askOrDispatch } from './wake.ts';

// The program that a push leaves behind. It asks the notifier for a dispatch, and ends.
//   waker-main <folder> <author> <script of the push>

const [path = '', author = '', script = ''] = process.argv.slice(2);
const queue = new SqliteQueue(mustBeQueue(path), { wakes: false });
const { env, execPath } = process;
await askOrDispatch(queue, author, { env, script, execPath });
await queue.close();
