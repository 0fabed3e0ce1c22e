import { resolve } from 'node:path';
import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

export function sessionImport(world: World): Command {
  return defineCommand('import', 'Take in a session that was exported, and print its id.', [
    'quipu session import ./take-along',
  ])
    .argument('<folder>', 'what "quipu session export" wrote')
    .option('--folder <folder>', 'where its file goes (default: inside the store)')
    .action(
      withIo(world, async (io, from: string, { folder }: { folder?: string }) => {
        await using store = await io.createStore();
        const place = folder === undefined ? {} : { folder: resolve(world.cwd, folder) };
        await using session = await store.sessions.import(resolve(world.cwd, from), place);
        const { id, file } = session;
        await (io.json ? io.printJson({ id, file }) : world.out(`${id}\n`));
      }),
    );
}
