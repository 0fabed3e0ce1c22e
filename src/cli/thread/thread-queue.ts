import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { programFile } from '../../base/program-file.ts';
import { askForDispatch } from '../../queue/dispatch/consumer-lock.ts';
import { mustBeQueue } from '../../queue/sqlite/queue-folder.ts';
import { SqliteQueue } from '../../queue/sqlite-queue.ts';

/** The shell that called `thread`: all that a command may touch besides the queue's folder. */
export interface ThreadShell {
  /** Standard output. Rejects with EPIPE when nobody reads on. */
  out(data: string): Promise<void>;
  /** Standard error. */
  err(text: string): void;
  /** Opened on first use. */
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The script that runs, as it was called. */
  readonly script: string;
  /** The program that runs scripts. */
  readonly execPath: string;
}

export interface ThreadOptions {
  readonly thread: string;
  readonly json?: boolean;
}

/** Opens the queue for one command. Pushing wakes nobody by itself: the command does that, through the notifier. */
export async function withQueue<T>(
  shell: ThreadShell,
  { thread }: ThreadOptions,
  work: (queue: SqliteQueue) => Promise<T>,
): Promise<T> {
  const queue = new SqliteQueue(mustBeQueue(resolve(shell.cwd, thread)), {
    wakes: false,
    warn: (text) => shell.err(`Warning: ${text}\n`),
  });
  try {
    return await work(queue);
  } finally {
    await queue.close();
  }
}

export function parseFilled(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('Expected a text that is not empty.');
}

// The list of threads that have consumers, for `dispatch --all`: a file for each, beside the spool of the notifier that
// wakes them. A thread is its directory and needs no entry. A thread without an entry is only not woken after a restart
// of the machine.

function placeOf({ env }: ThreadShell): string | undefined {
  const { NOTIFIER_HOME: named, HOME: home } = env;
  if (named !== undefined && named !== '') return join(named, 'threads');
  return home === undefined || home === ''
    ? undefined
    : join(home, '.local/share/notifier/threads');
}

function entryOf(place: string, path: string): string {
  return join(place, createHash('sha256').update(path).digest('hex').slice(0, 32));
}

/** A failure here never fails the command that calls it. */
export function noteThread(shell: ThreadShell, path: string): void {
  const place = placeOf(shell);
  if (place === undefined) return;
  try {
    const entry = entryOf(place, path);
    if (existsSync(entry)) return;
    mkdirSync(place, { recursive: true, mode: 0o700 });
    writeFileSync(entry, path, { mode: 0o600 });
  } catch (error) {
    const why = (error as Error).message;
    shell.err(`Warning: ${path} will not be found by thread dispatch --all (${why})\n`);
  }
}

/** Returns the directories of the threads. Some of them may be gone. */
export function knownThreads(shell: ThreadShell): string[] {
  const place = placeOf(shell);
  if (place === undefined || !existsSync(place)) return [];
  const paths = readdirSync(place).map((name) => readFileSync(join(place, name), 'utf8'));
  // An entry that was cut off by a crash is not a path.
  return paths.filter((path) => existsSync(entryOf(place, path))).toSorted();
}

export function forgetThread(shell: ThreadShell, path: string): void {
  const place = placeOf(shell);
  if (place !== undefined) rmSync(entryOf(place, path), { force: true });
}

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
