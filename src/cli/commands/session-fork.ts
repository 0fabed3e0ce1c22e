import { resolve } from 'node:path';
import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { toSessionArgument } from '../session-argument.ts';
import type { World } from '../world.ts';

interface Options {
  readonly at?: string;
  readonly artifacts: boolean;
  readonly folder?: string;
}

export function sessionFork(world: World): Command {
  return defineCommand('fork', 'Go on from a session in a new one, and print its id.', [
    'branch=$(quipu session fork $id)',
    'quipu session fork $id --at 5f0c --no-artifacts --json',
  ])
    .argument('<session>', 'id or path of its file')
    .option('--at <entry>', 'keep only this entry and those that lead to it')
    .option('--no-artifacts', 'leave the artifacts behind')
    .option('--folder <folder>', 'where the new file goes (default: beside the old one)')
    .action(
      withIo(world, async (io, name: string, { at, artifacts, folder }: Options) => {
        await using store = await io.openStore();
        const report = await store.sessions.fork(toSessionArgument(world, name), {
          artifacts,
          ...(at !== undefined && { at }),
          ...(folder !== undefined && { folder: resolve(world.cwd, folder) }),
        });
        if (report.warning !== undefined) world.err(`${report.warning}\n`);
        await (io.json ? io.printJson(report) : world.out(`${report.id}\n`));
      }),
    );
}
