import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

export function workflowRollback(world: World): Command {
  return defineCommand(
    'rollback',
    'Let a name stand for an earlier bundle again, and print its hash.',
    ['quipu workflow rollback solve-issue', 'quipu workflow rollback solve-issue --to <hash>'],
  )
    .argument('<workflow>', 'the name')
    .option('--to <hash>', 'which bundle (default: the one before)')
    .action(
      withIo(world, async (io, name: string, { to }: { readonly to?: string }) => {
        await using store = await io.openStore();
        const bundle = await store.workflows.bundles.rollback(name, to);
        await (io.json ? io.printJson(bundle) : world.out(`${bundle.hash}\n`));
      }),
    );
}
