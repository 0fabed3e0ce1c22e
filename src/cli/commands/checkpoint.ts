import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

export function checkpoint(world: World): Command {
  return defineCommand('checkpoint', 'Empty the journal into the files, so that opening is fast.', [
    'quipu checkpoint',
  ]).action(
    withIo(world, async (io) => {
      await using store = await io.openStore();
      await store.maintain.checkpoint();
      if (io.json) await io.printJson({ checkpointed: true });
    }),
  );
}
