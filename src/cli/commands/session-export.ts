import { resolve } from 'node:path';
import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { toSessionArgument } from '../session-argument.ts';
import type { World } from '../world.ts';

export function sessionExport(world: World): Command {
  return defineCommand('export', 'Write a session, its artifacts and its blobs to a folder.', [
    'quipu session export $id ./take-along',
  ])
    .argument('<session>', 'id or path of its file')
    .argument('<folder>', 'a new or empty folder')
    .action(
      withIo(world, async (io, name: string, folder: string) => {
        await using store = await io.openStore();
        const to = resolve(world.cwd, folder);
        const report = await store.sessions.export(toSessionArgument(world, name), to);
        for (const sha256 of report.missing) world.err(`blob:sha256:${sha256} is missing\n`);
        await (io.json ? io.printJson(report) : world.out(`${report.folder}\n`));
      }),
    );
}
