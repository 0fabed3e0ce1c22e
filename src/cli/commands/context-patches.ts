import type { Command } from 'commander';
import type { TurnId } from '../../base/brand.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseTurnId } from '../parse-argument.ts';
import { toSize, toTime } from '../quantity.ts';
import { toTable } from '../table.ts';
import type { World } from '../world.ts';

export function contextPatches(world: World): Command {
  return defineCommand('patches', 'List the patches on a turn, oldest first.', [
    'quipu context patches 12',
    'quipu context patches 12 --json',
  ])
    .argument('<turn>', 'turn id', parseTurnId)
    .action(
      withIo(world, async (io, id: TurnId) => {
        await using store = await io.openStore();
        const patches = await store.contexts.patches(id);
        if (io.json) for (const patch of patches) await io.printJson(patch);
        if (io.json || patches.length === 0) return;
        const rows = patches.map((patch) => [
          String(patch.seq),
          patch.tombstone ? 'tombstone' : 'patch',
          toTime(patch.createdAt),
          String(patch.encoding),
          toSize(patch.size),
        ]);
        await world.out(
          toTable(['SEQ', 'WHAT', 'CREATED', 'ENCODING', 'SIZE'], rows, ['SEQ', 'SIZE']),
        );
      }),
    );
}
