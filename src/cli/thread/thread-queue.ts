import { resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { mustBeQueue } from '../../queue/folder.ts';
import { SqliteQueue } from '../../queue/sqlite-queue.ts';
import type { ThreadShell } from './thread-shell.ts';

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

/** The whole text must be a number: `12abc` is not an integer. */
export function parseInteger(text: string): number {
  const value = Number(text);
  if (/^[0-9]{1,16}$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError('Expected a whole number.');
}

export function parseFilled(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('It is empty.');
}
