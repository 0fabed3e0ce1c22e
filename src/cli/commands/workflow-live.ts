import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { toStepLine } from '../show-workflow.ts';
import type { World } from '../world.ts';

export function workflowLive(world: World): Command {
  return defineCommand('live', 'Print the steps of a thread as they come, until it ends.', [
    'quipu workflow live 01JTHREAD1AAAAAAAAAAAAAAAA',
    'quipu workflow live 01JTHREAD1AAAAAAAAAAAAAAAA --after <hash> --json',
  ])
    .argument('<thread>', 'thread id')
    .option('--after <hash>', 'begin after this step')
    .action(
      withIo(world, async (io, id: string, { after }: { readonly after?: string }) => {
        await using store = await io.openStore();
        const signal = world.catchInterrupt();
        const options = { signal, ...(after !== undefined && { after }) };
        for await (const step of store.workflows.live(id, options)) {
          await (io.json ? io.printJson(step) : world.out(toStepLine(step)));
        }
      }),
    );
}
