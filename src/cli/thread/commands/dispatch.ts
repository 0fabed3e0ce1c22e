import type { Command } from 'commander';
import { defineThreadCommand, onThread, withQueue } from '../define-command.ts';
import type { ThreadOptions } from '../define-command.ts';
import type { ThreadWorld } from '../thread-world.ts';

export function dispatch(world: ThreadWorld, verbose: boolean): Command {
  return onThread(
    defineThreadCommand(
      'dispatch',
      {
        summary:
          'Start the handlers of consumers that have events to handle. A push does it by itself.',
        more: [
          'A consumer whose handler runs is skipped: that one is run again when it ends and there is more to do. A\nhandler that fails is run again after growing pauses; after ten failures in a row its consumer is marked\nfailed, and each dispatch gives it one try.',
        ],
        examples: ['thread dispatch --thread ./inbox'],
      },
      verbose,
    ),
  ).action(async (options: ThreadOptions) => {
    const report = await withQueue(world, options, (queue) => queue.dispatch());
    for (const consumer of report.started) await world.out(`started ${consumer}\n`);
    for (const { consumer, reason } of report.skipped) {
      world.err(`skipped ${consumer} (${reason})\n`);
    }
  });
}
