import { resolve } from 'node:path';
import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { toSessionArgument } from '../session-argument.ts';
import type { World } from '../world.ts';

export function sessionMove(world: World): Command {
  return defineCommand('move', 'Move a session and its artifacts to another folder.', [
    'quipu session move $id ../other/sessions --cwd ../other',
  ])
    .argument('<session>', 'id or path of its file')
    .argument('<folder>', 'where to; may be on another device')
    .option('--cwd <folder>', 'the folder the session is about from now on')
    .action(
      withIo(world, async (io, name: string, folder: string, options: { cwd?: string }) => {
        await using store = await io.openStore();
        const { cwd } = options;
        const report = await store.sessions.move(
          toSessionArgument(world, name),
          resolve(world.cwd, folder),
          cwd === undefined ? {} : { cwd: resolve(world.cwd, cwd) },
        );
        await (io.json ? io.printJson(report) : world.out(`${report.to}\n`));
      }),
    );
}
