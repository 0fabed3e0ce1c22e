import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

export function queueCreate(world: World): Command {
  return defineCommand('create', 'Make a queue, unless it is there.', ['quipu queue create inbox'])
    .argument('<queue>', 'its name')
    .action(
      withIo(world, async (io, name: string) => {
        await using store = await io.createStore();
        await store.queues.open(name);
        await (io.json ? io.printJson({ name }) : world.out(`${name}\n`));
      }),
    );
}
