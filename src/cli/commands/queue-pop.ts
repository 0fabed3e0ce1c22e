import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { parseCount } from '../parse-argument.ts';
import { withQueue } from '../with-queue.ts';
import type { World } from '../world.ts';

interface Options {
  readonly after: number;
  readonly limit: number;
}

export function queuePop(world: World): Command {
  return defineCommand('pop', 'Acknowledge what a consumer handled and print what comes next.', [
    'quipu queue pop inbox worker-1 --after 0',
    'quipu queue pop inbox worker-1 --after 42 -n 10',
  ])
    .argument('<queue>', 'its name')
    .argument('<consumer>', 'who asks')
    .requiredOption('--after <id>', 'the newest event that was handled, 0 for none', parseCount)
    .option('-n, --limit <n>', 'how many at most', parseCount, 100)
    .action(
      withIo(world, async (io, name: string, consumer: string, { after, limit }: Options) => {
        const events = await withQueue(io, name, (queue) =>
          queue.pop(consumer, { lastEventId: after, limit }),
        );
        for (const event of events) await io.printJson(event);
      }),
    );
}
