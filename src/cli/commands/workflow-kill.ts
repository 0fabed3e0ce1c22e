import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

export function workflowKill(world: World): Command {
  return defineCommand(
    'kill',
    'End a thread with return code 130; whoever runs it stops at once.',
    ['quipu workflow kill 01JTHREAD1AAAAAAAAAAAAAAAA --reason "wrong branch"'],
  )
    .argument('<thread>', 'thread id')
    .option('--reason <text>', 'what the end says')
    .action(
      withIo(world, async (io, id: string, { reason }: { readonly reason?: string }) => {
        await using store = await io.openStore();
        const step = await store.workflows.kill(id, reason);
        if (io.json) await io.printJson(step);
      }),
    );
}
