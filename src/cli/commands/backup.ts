import { isAbsolute, resolve } from 'node:path';
import type { Command } from 'commander';
import { invalid } from '../../base/errors.ts';
import { toBackupFacts } from '../backup-facts.ts';
import { defineCommand, withIo } from '../command.ts';
import { isPostgresAddress } from '../../postgres/address.ts';
import { isAddress } from '../locate-store.ts';
import { withProgress } from '../with-progress.ts';
import type { World } from '../world.ts';

export function backup(world: World): Command {
  return defineCommand('backup', 'Copy the store into a folder; later runs copy what is new.', [
    'quipu backup /mnt/disk/quipu-backup',
  ])
    .argument('<dir>', 'the folder; empty, missing, or a backup of this store')
    .action(
      withIo(world, async (io, dir: string) => {
        if (isAddress(io.place) && !isPostgresAddress(io.place) && !isAbsolute(dir)) {
          throw invalid(
            '<dir>',
            "is on the server's machine, so it must be an absolute path there",
          );
        }
        await using store = await io.openStore();
        const report = await withProgress(world, (progress) =>
          store.maintain.backup(resolve(world.cwd, dir), progress),
        );
        await (io.json ? io.printJson(report) : world.out(toBackupFacts(report)));
      }),
    );
}
