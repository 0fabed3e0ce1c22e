import type { Command } from 'commander';
import type { ContextId } from '../../base/brand.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseContextId } from '../parse-argument.ts';
import type { World } from '../world.ts';

export function contextRm(world: World): Command {
  return defineCommand('rm', 'Remove a context. Turns that a fork or a pin needs stay.', [
    'quipu context rm 3',
  ])
    .argument('<context>', 'context id', parseContextId)
    .action(
      withIo(world, async (io, id: ContextId) => {
        await using store = await io.openStore();
        await store.contexts.remove(id);
        if (io.json) await io.printJson({ id: String(id), removed: true });
      }),
    );
}
