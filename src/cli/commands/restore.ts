import { resolve } from 'node:path';
import type { Command } from 'commander';
import { toBackupFacts } from '../backup-facts.ts';
import { defineCommand, withIo } from '../command.ts';
import { withProgress } from '../with-progress.ts';
import type { World } from '../world.ts';

export function restore(world: World): Command {
  return defineCommand(
    'restore',
    'Make a store from a backup, in a folder that is not there yet.',
    ['quipu restore /mnt/disk/quipu-backup ./.quipu'],
  )
    .argument('<backup>', 'the folder that "quipu backup" wrote')
    .argument('<dir>', 'where to; nothing is ever overwritten')
    .action(
      withIo(world, async (io, from: string, to: string) => {
        const report = await withProgress(world, (progress) =>
          world.restoreStore(resolve(world.cwd, from), resolve(world.cwd, to), progress),
        );
        await (io.json ? io.printJson(report) : world.out(toBackupFacts(report)));
      }),
    );
}
