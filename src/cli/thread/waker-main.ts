import process from 'node:process';
import { mustBeQueue } from '../../queue/sqlite/queue-folder.ts';
import { askNotifier, type AskingProcess } from '../../queue/notifier.ts';
import { SqliteQueue } from '../../queue/sqlite-queue.ts';
import { info, warn } from '../../queue/sqlite/runtime-log.ts';

// The program that a push leaves behind. It asks the notifier for a dispatch, and ends.
//   waker-main <folder> <author> <script of the push>

const [path = '', author = '', script = ''] = process.argv.slice(2);
const queue = new SqliteQueue(mustBeQueue(path), { wakes: false });
const { env, execPath } = process;
await askOrDispatch(queue, author, { env, script, execPath });
await queue.close();

/** Asks the notifier, and starts the handlers from here when that fails. */
async function askOrDispatch(
  queue: SqliteQueue,
  author: string,
  shell: AskingProcess,
): Promise<void> {
  const notified = await askNotifier(queue.folder, author, shell);
  if (notified.outcome === 'queued') {
    const state = notified.exit === 0 ? 'queued' : 'already queued';
    queue.log(info(`push: notifier task=${notified.task} ${state}`));
    return;
  }
  const { task, reason } = notified;
  queue.log(warn(`push: notifier task=${task} failed: ${reason}; dispatching from here`));
  try {
    await queue.dispatch();
  } catch (error) {
    queue.log(warn(`push: handlers were not started: ${(error as Error).message}`));
  }
}
