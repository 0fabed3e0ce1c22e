import type { Command } from 'commander';
import { toLine } from '../../../queue/event-line.ts';
import { LIMIT_DEFAULT } from '../../../queue/limits.ts';
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

interface Options extends ThreadOptions {
  readonly consumer: string;
  readonly lastEventId: number;
  readonly limit: number;
}

export function pop(world: ThreadWorld, verbose: boolean): Command {
  const command = onThread(
    defineThreadCommand(
      'pop',
      {
        summary: 'Acknowledge what was handled and print what comes next.',
        more: [
          '--last-event-id is the newest event that was handled, 0 for none. It is acknowledged with all before it, and\nthe events after it that match the filter of the consumer are printed, one JSON object a line.',
          'A consumer pops, handles, pops with the last id it handled, and ends when nothing is printed. What it had\nnot acknowledged when it crashed comes again.',
        ],
        examples: [
          'thread pop --thread ./inbox --consumer worker-1 --last-event-id 0',
          'thread pop --thread ./inbox --consumer worker-1 --last-event-id 42 --limit 10',
        ],
      },
      verbose,
    ),
  )
    .requiredOption('--consumer <id>', 'who asks', parseFilled)
    .requiredOption('--last-event-id <id>', 'the newest event that was handled', parseInteger)
    .option('--limit <n>', 'how many at most', parseInteger, LIMIT_DEFAULT);
  return withJson(command).action(async (options: Options) => {
    const { consumer, lastEventId, limit } = options;
    const events = await withQueue(world, options, (queue) =>
      queue.pop(consumer, { lastEventId, limit }),
    );
    for (const event of events) await world.out(toLine(event));
  });
}
