import { resolve } from 'node:path';
import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { toSessionArgument } from '../session-argument.ts';
import type { World } from '../world.ts';

export function sessionMove(world: World): Command {
  return defineCommand('move', 'Move a session and its artifacts to another folder.', [
    'quipu session move $id ../other/sessions --cwd ../other',
    'quipu session move $id --cwd ../other',
  ])
    .argument('<session>', 'id or path of its file')
    .argument(
      '[folder]',
      'where to; may be on another device (default: inside the store, for --cwd)',
    )
    .option('--cwd <folder>', 'the folder the session is about from now on')
    .action(
      withIo(
        world,
        async (io, name: string, folder: string | undefined, options: { cwd?: string }) => {
          await using store = await io.openStore();
          const about = options.cwd === undefined ? {} : { cwd: resolve(world.cwd, options.cwd) };
          // Neither is for the call to refuse, as for anyone else.
          const to = folder === undefined ? (about as { cwd: string }) : resolve(world.cwd, folder);
          const report = await store.sessions.move(toSessionArgument(world, name), to, about);
          await (io.json ? io.printJson(report) : world.out(`${report.to}\n`));
        },
      ),
    );
}
