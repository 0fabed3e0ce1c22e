import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

export function workflowPause(world: World): Command {
  return defineCommand('pause', 'Let whoever runs a thread stop behind the step it is at.', [
    'quipu workflow pause 01JTHREAD1AAAAAAAAAAAAAAAA',
  ])
    .argument('<thread>', 'thread id')
    .action(
      withIo(world, async (io, id: string) => {
        await using store = await io.openStore();
        const thread = await store.workflows.pause(id);
        if (io.json) await io.printJson(thread);
      }),
    );
}
