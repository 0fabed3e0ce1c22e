import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { parseCount } from '../parse-argument.ts';
import { withQueue } from '../with-queue.ts';
import type { World } from '../world.ts';

interface Options {
  readonly after: number;
  readonly filter?: string;
  readonly count?: number;
}

export function queueFollow(world: World): Command {
  return defineCommand('follow', 'Print the events of a queue, then every new one until Ctrl-C.', [
    'quipu queue follow inbox',
    'quipu queue follow inbox --after 40 -n 3',
  ])
    .argument('<queue>', 'its name')
    .option('--after <id>', 'begin after this event', parseCount, 0)
    .option('--filter <condition>', `such as "type = 'message'"`)
    .option('-n, --count <n>', 'end after so many events', parseCount)
    .action(
      withIo(world, async (io, name: string, options: Options) => {
        const { after, filter, count = Infinity } = options;
        if (count === 0) return;
        const signal = world.catchInterrupt();
        const from = { lastEventId: after, signal, ...(filter !== undefined && { filter }) };
        await withQueue(io, name, async (queue) => {
          let printed = 0;
          for await (const event of queue.follow(from)) {
            await io.printJson(event);
            printed += 1;
            if (printed >= count) return;
          }
        });
      }),
    );
}
