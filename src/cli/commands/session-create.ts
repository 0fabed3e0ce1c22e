import { resolve } from 'node:path';
import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

interface Options {
  readonly cwd?: string;
  readonly folder?: string;
  readonly title?: string;
}

export function sessionCreate(world: World): Command {
  return defineCommand('create', 'Begin a session, and print its id.', [
    'id=$(quipu session create --title "fix the parser")',
    'quipu session create --folder ./sessions --json',
  ])
    .option('--cwd <folder>', 'the folder the session is about (default: this one)')
    .option('--folder <folder>', 'where its file goes (default: inside the store)')
    .option('--title <text>', 'what to call it')
    .action(
      withIo(world, async (io, { cwd = '.', folder, title }: Options) => {
        await using store = await io.createStore();
        await using session = await store.sessions.create({
          cwd: resolve(world.cwd, cwd),
          ...(folder !== undefined && { folder: resolve(world.cwd, folder) }),
          ...(title !== undefined && { header: { title } }),
        });
        const { id, file, header } = session;
        await (io.json ? io.printJson({ id, file, header }) : world.out(`${id}\n`));
      }),
    );
}
