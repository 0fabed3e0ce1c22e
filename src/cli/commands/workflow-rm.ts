import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { isThread } from '../show-workflow.ts';
import type { World } from '../world.ts';

export function workflowRm(world: World): Command {
  return defineCommand('rm', 'Forget a thread, or take a workflow out of the registry.', [
    'quipu workflow rm 01JTHREAD1AAAAAAAAAAAAAAAA',
    'quipu workflow rm solve-issue',
  ])
    .argument('<thread-or-workflow>', 'thread id, or the name of a workflow')
    .action(
      withIo(world, async (io, what: string) => {
        await using store = await io.openStore();
        const { workflows } = store;
        await (isThread(what) ? workflows.remove(what) : workflows.bundles.remove(what));
        if (io.json) await io.printJson({ removed: what });
      }),
    );
}
