import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { programFile } from '../../base/program-file.ts';
import { askForDispatch } from '../../queue/dispatch/consumer-lock.ts';
import { askNotifier, type AskingProcess } from '../../queue/notifier.ts';
import type { SqliteQueue } from '../../queue/sqlite-queue.ts';
import { info, warn } from '../../queue/sqlite/runtime-log.ts';
import { noteThread, type ThreadShell } from './thread-queue.ts';

const WAKER: string = fileURLToPath(programFile('cli/thread/waker-main.js'));

/**
 * Makes sure that handlers run for the pushed events, and waits for nobody. A running handler's supervisor looks again
 * before it ends. A dispatch that was asked for and has not begun will see the events. Otherwise a new process asks the
 * notifier. A notifier that somebody named is asked for every push.
 */
export function wake(shell: ThreadShell, queue: SqliteQueue, author: string): void {
  const hasIdle = queue.hasIdleConsumers();
  const isNamed = (shell.env['THREAD_NOTIFIER'] ?? '') !== '';
  if (!isNamed && !(hasIdle && askForDispatch(queue.folder, Date.now()))) return;
  // This also notes a thread that was subscribed to by other means.
  if (hasIdle) noteThread(shell, queue.folder.path);
  const args = [WAKER, queue.folder.path, author, shell.script];
  const child = spawn(shell.execPath, args, {
    cwd: shell.cwd,
    env: shell.env,
    detached: true,
    stdio: 'ignore',
  });
  child.on('error', (error) => {
    shell.err(`Warning: nobody was woken (${error.message}) - run: thread dispatch\n`);
  });
  child.unref();
}

/** Asks the notifier, and starts the handlers from here when that fails. */
export async function askOrDispatch(
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
