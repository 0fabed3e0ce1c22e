import type { Command } from 'commander';
import { defineThreadCommand, onThread, parseFilled, withQueue } from '../define-command.ts';
import type { ThreadOptions } from '../define-command.ts';
import type { ThreadWorld } from '../thread-world.ts';

interface Options extends ThreadOptions {
  readonly consumer: string;
}

export function unsubscribe(world: ThreadWorld, verbose: boolean): Command {
  return onThread(
    defineThreadCommand(
      'unsubscribe',
      {
        summary: 'Remove a consumer. Its progress stays, for when it subscribes again.',
        more: ['A handler that runs is not stopped; it is not run again.'],
        examples: ['thread unsubscribe --thread ./inbox --consumer worker-1'],
      },
      verbose,
    ),
  )
    .requiredOption('--consumer <id>', 'which one', parseFilled)
    .action(async (options: Options) => {
      await withQueue(world, options, (queue) => queue.unsubscribe(options.consumer));
      await world.out(`Unsubscribed ${options.consumer}\n`);
    });
}
