import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { withQueue } from '../with-queue.ts';
import type { World } from '../world.ts';

interface Options {
  readonly handler: string;
  readonly filter?: string;
}

export function queueSubscribe(world: World): Command {
  return defineCommand(
    'subscribe',
    'Register a consumer and the command that handles its events.',
    [
      'quipu queue subscribe inbox worker-1 --handler ./work.sh',
      `quipu queue subscribe inbox reader --handler ./read.sh --filter "type = 'message'"`,
    ],
  )
    .argument('<queue>', 'its name')
    .argument('<consumer>', 'a name, without slashes')
    .requiredOption('--handler <cmd>', 'a command for the shell, run where the store is')
    .option('--filter <condition>', 'which events (default: all)')
    .action(
      withIo(world, async (io, name: string, consumer: string, options: Options) => {
        const row = await withQueue(io, name, (queue) => queue.subscribe({ consumer, ...options }));
        await (io.json ? io.printJson(row) : world.out(`${row.consumer_id}\n`));
      }),
    );
}
