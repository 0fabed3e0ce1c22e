import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { withQueue } from '../with-queue.ts';
import type { World } from '../world.ts';

export function queueUnsubscribe(world: World): Command {
  return defineCommand('unsubscribe', 'Remove a consumer. Its progress stays.', [
    'quipu queue unsubscribe inbox worker-1',
  ])
    .argument('<queue>', 'its name')
    .argument('<consumer>', 'which one')
    .action(
      withIo(world, async (io, name: string, consumer: string) => {
        await withQueue(io, name, (queue) => queue.unsubscribe(consumer));
      }),
    );
}
