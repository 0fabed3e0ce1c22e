import type { Command } from 'commander';
import { toQueueText } from '../../queue-text.ts';
import { defineThreadCommand, onThread, withJson, withQueue } from '../define-command.ts';
import type { ThreadOptions } from '../define-command.ts';
import type { ThreadWorld } from '../thread-world.ts';

export function info(world: ThreadWorld, verbose: boolean): Command {
  return withJson(
    onThread(
      defineThreadCommand(
        'info',
        {
          summary: 'Print how many events there are, who is subscribed, and how far each one is.',
          more: [
            'LAG counts the events that match and are not acknowledged, up to 10,000. STATE is idle, running, or failed:\na handler that failed ten times in a row. One that runs is shown with its process, which kill -- -<process> ends.',
          ],
          examples: ['thread info --thread ./inbox', 'thread info --thread ./inbox --json'],
        },
        verbose,
      ),
    ),
  ).action(async (options: ThreadOptions) => {
    const found = await withQueue(world, options, (queue) => queue.info());
    await world.out(options.json === true ? `${JSON.stringify(found)}\n` : toQueueText(found));
  });
}
