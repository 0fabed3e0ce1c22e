import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { toTable } from '../table.ts';
import type { World } from '../world.ts';

export function queueList(world: World): Command {
  return defineCommand('list', 'List the queues by name.', ['quipu queue list']).action(
    withIo(world, async (io) => {
      await using store = await io.openStore();
      const queues = await store.queues.list();
      if (io.json) {
        for (const queue of queues) await io.printJson(queue);
        return;
      }
      if (queues.length === 0) return;
      const rows = queues.map((queue) => [
        queue.name,
        String(queue.event_count),
        String(queue.subscriptions),
      ]);
      await world.out(toTable(['QUEUE', 'EVENTS', 'CONSUMERS'], rows, ['EVENTS', 'CONSUMERS']));
    }),
  );
}
