import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { startProgress } from '../progress-line.ts';
import type { World } from '../world.ts';

export function reindex(world: World): Command {
  return defineCommand('reindex', 'Build the index anew from what the store holds.', [
    'quipu reindex',
  ]).action(
    withIo(world, async (io) => {
      await using store = await io.openStore();
      const progress = startProgress(world);
      try {
        await store.maintain.reindex(progress.report);
      } finally {
        progress.end();
      }
      if (io.json) await io.printJson({ reindexed: true });
    }),
  );
}
