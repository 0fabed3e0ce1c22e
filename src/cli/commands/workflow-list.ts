import type { Command } from 'commander';
import type { Store } from '../../store/store.ts';
import { defineCommand, withIo } from '../command.ts';
import type { CommandIo } from '../command.ts';
import { parseCount } from '../parse-argument.ts';
import { toTime } from '../quantity.ts';
import { toThreadTable } from '../show-workflow.ts';
import { toTable } from '../table.ts';
import type { World } from '../world.ts';

interface Options {
  readonly all?: boolean;
  readonly completed?: boolean;
  readonly bundles?: boolean;
  readonly limit: number;
  readonly cursor?: string;
}

export function workflowList(world: World): Command {
  return defineCommand('list', 'List threads that are under way, finished ones, or workflows.', [
    'quipu workflow list',
    'quipu workflow list --all --json',
    'quipu workflow list --bundles',
  ])
    .option('--all', 'finished threads too')
    .option('--completed', 'finished threads only')
    .option('--bundles', 'the workflows that are registered, instead of threads')
    .option('-n, --limit <n>', 'how many threads at most', parseCount, 50)
    .option('--cursor <text>', 'go on where the page before ended')
    .action(
      withIo(world, async (io, options: Options) => {
        await using store = await io.openStore();
        await (options.bundles === true ? listBundles(io, store) : listThreads(io, store, options));
      }),
    );
}

async function listThreads(io: CommandIo, store: Store, options: Options): Promise<void> {
  const { all = false, completed = false, limit, cursor: from } = options;
  const { items, cursor } = await store.workflows.list({
    state: all ? 'all' : completed ? 'completed' : 'active',
    limit,
    ...(from !== undefined && { cursor: from }),
  });
  if (io.json) for (const thread of items) await io.printJson(thread);
  else if (items.length > 0) await io.world.out(toThreadTable(items));
  if (cursor === undefined) return;
  io.world.err(io.json ? `${JSON.stringify({ cursor })}\n` : `more: --cursor ${cursor}\n`);
}

async function listBundles(io: CommandIo, store: Store): Promise<void> {
  const bundles = await store.workflows.bundles.list();
  if (io.json) {
    for (const bundle of bundles) await io.printJson(bundle);
  } else if (bundles.length > 0) {
    const rows = bundles.map(({ name, hash, versions, description = '' }) => [
      name,
      hash.slice(0, 12),
      toTime(versions.at(-1)?.since ?? 0),
      description,
    ]);
    await io.world.out(toTable(['WORKFLOW', 'BUNDLE', 'SINCE', 'DESCRIPTION'], rows));
  }
}
