import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { toTime } from '../quantity.ts';
import { toTable } from '../table.ts';
import type { World } from '../world.ts';

export function workflowHistory(world: World): Command {
  return defineCommand('history', 'List the bundles that a name stood for, oldest first.', [
    'quipu workflow history solve-issue',
  ])
    .argument('<workflow>', 'the name')
    .action(
      withIo(world, async (io, name: string) => {
        await using store = await io.openStore();
        const versions = await store.workflows.bundles.history(name);
        if (io.json) {
          for (const version of versions) await io.printJson(version);
          return;
        }
        const rows = versions.map(({ hash, since }) => [toTime(since), hash]);
        await world.out(toTable(['SINCE', 'BUNDLE'], rows));
      }),
    );
}
