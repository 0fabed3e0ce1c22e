import type { Command } from 'commander';
import { toLine } from '../../../queue/event-line.ts';
import { LIMIT_DEFAULT } from '../../../queue/limits.ts';
import type { PeekOptions } from '../../../queue/queue.ts';
import {
  defineThreadCommand,
  onThread,
  parseFilled,
  parseInteger,
  withJson,
  withQueue,
} from '../define-command.ts';
import type { ThreadOptions } from '../define-command.ts';
import type { ThreadWorld } from '../thread-world.ts';

interface Options extends ThreadOptions, PeekOptions {}

export function peek(world: ThreadWorld, verbose: boolean): Command {
  const command = onThread(
    defineThreadCommand(
      'peek',
      {
        summary: 'Print events and change nothing.',
        more: [
          'A filter is a condition over id, created_at, source, type, subtype and content: comparisons, LIKE, GLOB, IN,\nBETWEEN, IS NULL, AND, OR, NOT and parentheses, with texts in single quotes.',
        ],
        examples: [
          'thread peek --thread ./inbox --last-event-id 0 --limit 5',
          `thread peek --thread ./inbox --last-event-id 0 --filter "source LIKE 'external:%'"`,
          `thread peek --thread ./inbox --last-event-id 0 --filter "type = 'record' AND subtype = 'decision'"`,
        ],
      },
      verbose,
    ),
  )
    .requiredOption('--last-event-id <id>', 'print events after this one', parseInteger)
    .option('--limit <n>', 'how many at most', parseInteger, LIMIT_DEFAULT)
    .option('--filter <sql-where>', `such as "type = 'message'"`, parseFilled);
  return withJson(command).action(async (options: Options) => {
    const events = await withQueue(world, options, (queue) => queue.peek(options));
    for (const event of events) await world.out(toLine(event));
  });
}
