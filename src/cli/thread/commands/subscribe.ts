import type { Command } from 'commander';
import {
  defineThreadCommand,
  onThread,
  parseFilled,
  withJson,
  withQueue,
} from '../define-command.ts';
import type { ThreadOptions } from '../define-command.ts';
import { noteThread } from '../known-threads.ts';
import type { ThreadWorld } from '../thread-world.ts';

interface Options extends ThreadOptions {
  readonly consumer: string;
  readonly handler: string;
  readonly filter?: string;
}

export function subscribe(world: ThreadWorld, verbose: boolean): Command {
  const command = onThread(
    defineThreadCommand(
      'subscribe',
      {
        summary: 'Register a consumer: which events, and the command that handles them.',
        more: [
          'The handler is a command of one line for the shell. It finds the thread and its own name in THREAD_DIR and\nTHREAD_CONSUMER, and pops until nothing is left.',
          'A filter is a condition over id, created_at, source, type, subtype and content; see thread peek. It decides which\nevents start the handler and which ones it pops.',
        ],
        examples: [
          'thread subscribe --thread ./inbox --consumer worker-1 --handler "./work.sh"',
          `thread subscribe --thread ./inbox --consumer warden-reader --handler "./work.sh" --filter "source LIKE 'internal:%:warden'"`,
        ],
      },
      verbose,
    ),
  )
    .requiredOption('--consumer <id>', 'a name, without slashes', parseFilled)
    .requiredOption('--handler <cmd>', 'the command', parseFilled)
    .option(
      '--filter <sql-where>',
      `such as "type = 'message'" (default: all events)`,
      parseFilled,
    );
  return withJson(command).action(async (options: Options) => {
    const row = await withQueue(world, options, async (queue) => {
      const subscribed = await queue.subscribe(options);
      noteThread(world, queue.folder.path);
      return subscribed;
    });
    const text = `Subscribed ${row.consumer_id}\n`;
    await world.out(options.json === true ? `${JSON.stringify(row)}\n` : text);
  });
}
