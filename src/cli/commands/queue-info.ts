import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { withQueue } from '../with-queue.ts';
import type { World } from '../world.ts';

export function queueInfo(world: World): Command {
  return defineCommand('info', 'Show who is subscribed to a queue and how far each one is.', [
    'quipu queue info inbox',
    'quipu queue info inbox --json',
  ])
    .argument('<queue>', 'its name')
    .action(
      withIo(world, async (io, name: string) => {
        const info = await withQueue(io, name, (queue) => queue.info());
        if (io.json) return io.printJson(info);
        const { toQueueText } = await import('../queue-text.ts');
        await world.out(toQueueText(info));
      }),
    );
}
