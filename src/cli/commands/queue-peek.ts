import type { Command } from 'commander';
import type { PeekOptions } from '../../queue/queue.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseCount } from '../parse-argument.ts';
import { withQueue } from '../with-queue.ts';
import type { World } from '../world.ts';

interface Options {
  readonly after: number;
  readonly limit: number;
  readonly filter?: string;
}

export function queuePeek(world: World): Command {
  return defineCommand('peek', 'Print events, one JSON object a line, and change nothing.', [
    'quipu queue peek inbox',
    `quipu queue peek inbox --after 40 --filter "source LIKE 'external:%'"`,
  ])
    .argument('<queue>', 'its name')
    .option('--after <id>', 'begin after this event', parseCount, 0)
    .option('-n, --limit <n>', 'how many at most', parseCount, 100)
    .option('--filter <condition>', `such as "type = 'message'"`)
    .action(
      withIo(world, async (io, name: string, { after, limit, filter }: Options) => {
        const options: PeekOptions = {
          lastEventId: after,
          limit,
          ...(filter !== undefined && { filter }),
        };
        const events = await withQueue(io, name, (queue) => queue.peek(options));
        for (const event of events) await io.printJson(event);
      }),
    );
}
