import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { parseCount } from '../parse-argument.ts';
import { withQueue } from '../with-queue.ts';
import type { World } from '../world.ts';

interface Options {
  readonly after: number;
  readonly limit: number;
  readonly fence?: number;
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
    .option(
      '--fence <n>',
      'the lease of the worker that runs this (default: $QUIPU_FENCE)',
      parseCount,
    )
    .action(
      withIo(world, async (io, name: string, consumer: string, options: Options) => {
        const { after, limit, fence = fenceOf(world, name, consumer) } = options;
        const page = { lastEventId: after, limit, ...(fence !== undefined && { fence }) };
        const events = await withQueue(io, name, (queue) => queue.pop(consumer, page));
        for (const event of events) await io.printJson(event);
      }),
    );
}

/** What a worker gave this handler, if this is about the same consumer. */
function fenceOf({ env }: World, queue: string, consumer: string): number | undefined {
  const { QUIPU_FENCE: fence, QUIPU_QUEUE, QUIPU_CONSUMER } = env;
  if (fence === undefined || QUIPU_QUEUE !== queue || QUIPU_CONSUMER !== consumer) return undefined;
  return Number(fence);
}
