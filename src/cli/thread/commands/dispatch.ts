import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { invalid } from '../../../base/errors.ts';
import { isQueueFolder } from '../../../queue/folder.ts';
import { defineThreadCommand, parseFilled, withQueue } from '../define-command.ts';
import { forgetThread, knownThreads } from '../known-threads.ts';
import type { ThreadWorld } from '../thread-world.ts';

interface Options {
  readonly thread?: string;
  readonly all?: boolean;
}

export function dispatch(world: ThreadWorld, verbose: boolean): Command {
  return defineThreadCommand(
    'dispatch',
    {
      summary:
        'Start the handlers of consumers that have events to handle. A push does it by itself.',
      more: [
        'A consumer whose handler runs is skipped: that one is run again when it ends and there is more to do. A\nhandler that fails is run again after growing pauses; after ten failures in a row its consumer is marked\nfailed, and each dispatch gives it one try.',
        'With --all it does so for every thread that somebody has subscribed to, as after a restart of the machine; see\nnotifier install.',
      ],
      examples: ['thread dispatch --thread ./inbox', 'thread dispatch --all'],
    },
    verbose,
  )
    .option('--thread <path>', 'the thread directory', parseFilled)
    .option('--all', 'every thread with consumers')
    .action(async ({ thread, all = false }: Options) => {
      if ((thread === undefined) !== all) {
        throw invalid("one of the options '--thread' and '--all'", 'is needed, and not both');
      }
      if (thread !== undefined) return dispatchOne(world, thread, '');
      for (const path of knownThreads(world)) await dispatchKnown(world, path);
    });
}

async function dispatchOne(world: ThreadWorld, thread: string, prefix: string): Promise<void> {
  const report = await withQueue(world, { thread }, (queue) => queue.dispatch());
  for (const consumer of report.started) await world.out(`${prefix}started ${consumer}\n`);
  for (const { consumer, reason } of report.skipped) {
    world.err(`${prefix}skipped ${consumer} (${reason})\n`);
  }
}

/** One that cannot be used does not stop the others. */
async function dispatchKnown(world: ThreadWorld, path: string): Promise<void> {
  // A disk that is not there yet may come back; a directory that is no thread any more will not.
  if (existsSync(path) && !isQueueFolder(path)) return forgetThread(world, path);
  try {
    await dispatchOne(world, path, `${path}: `);
  } catch (error) {
    world.err(`Warning: ${path}: ${(error as Error).message}\n`);
  }
}
