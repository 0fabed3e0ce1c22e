import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { withProgress } from '../with-progress.ts';
import type { World } from '../world.ts';

export function reindex(world: World): Command {
  return defineCommand('reindex', 'Build the index anew from what the store holds.', [
    'quipu reindex',
  ]).action(
    withIo(world, async (io) => {
      await using store = await io.openStore();
      await withProgress(world, (report) => store.maintain.reindex(report));
      if (io.json) await io.printJson({ reindexed: true });
    }),
  );
}
