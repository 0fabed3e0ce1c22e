import type { Command } from 'commander';
import type { TurnId } from '../../base/brand.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseTurnId } from '../parse-argument.ts';
import type { World } from '../world.ts';

export function contextUnpin(world: World): Command {
  return defineCommand('unpin', 'Let a pinned turn go when no context leads to it.', [
    'quipu context unpin 12',
  ])
    .argument('<turn>', 'turn id', parseTurnId)
    .action(
      withIo(world, async (io, id: TurnId) => {
        await using store = await io.openStore();
        await store.contexts.unpin(id);
        if (io.json) await io.printJson({ turn: String(id), pinned: false });
      }),
    );
}
