import { resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { mustBeQueue } from '../../queue/folder.ts';
import { SqliteQueue } from '../../queue/sqlite-queue.ts';
import type { ThreadWorld } from './thread-world.ts';

/** What the help of a command says: all of it with `--verbose`. */
export interface CommandWords {
  readonly summary: string;
  readonly examples: readonly string[];
  /** In paragraphs, for `--help --verbose`. */
  readonly more: readonly string[];
}

export interface ThreadOptions {
  readonly thread: string;
  readonly json?: boolean;
}

export function defineThreadCommand(name: string, words: CommandWords, verbose: boolean): Command {
  const examples = words.examples.map((line) => `  $ ${line}\n`).join('');
  const more = words.more.map((paragraph) => `\n${paragraph}\n`).join('');
  const short = `\nMore: thread ${name} --help --verbose`;
  return new Command(name)
    .description(words.summary)
    .addHelpText('after', verbose ? `${more}\nExamples:\n${examples}` : short);
}

export function onThread(command: Command): Command {
  return command.requiredOption('--thread <path>', 'the thread directory', parseFilled);
}

export function withJson(command: Command): Command {
  return command.option('--json', 'print JSON, and errors as {"error","suggestion"}');
}

/**
 * Opens the queue for one command. Pushing wakes nobody by itself: that is for the command to do, through
 * the notifier.
 */
export async function withQueue<T>(
  world: ThreadWorld,
  { thread }: ThreadOptions,
  work: (queue: SqliteQueue) => Promise<T>,
): Promise<T> {
  const queue = new SqliteQueue(mustBeQueue(resolve(world.cwd, thread)), {
    wakes: false,
    warn: (text) => world.err(`Warning: ${text}\n`),
  });
  try {
    return await work(queue);
  } finally {
    await queue.close();
  }
}

/** The whole text is a number or none is: `12abc` is not an integer. */
export function parseInteger(text: string): number {
  const value = Number(text);
  if (/^[0-9]{1,16}$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError('Expected a whole number.');
}

export function parseFilled(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('It is empty.');
}
