import type { Command } from 'commander';
import type { ListOptions } from '../../context/contexts.ts';
import type { Context } from '../../context/context.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseCount } from '../parse-argument.ts';
import { toTime } from '../quantity.ts';
import { toPlainLine } from '../plain-text.ts';
import { toTable } from '../table.ts';
import type { World } from '../world.ts';

const TITLE_CHARS = 48;

interface Options extends ListOptions {
  readonly limit: number;
}

export function contextList(world: World): Command {
  return defineCommand('list', 'List contexts, the most recently used first.', [
    'quipu context list',
    'quipu context list --label urgent -n 5 --json',
  ])
    .option('-n, --limit <n>', 'how many at most', parseCount, 50)
    .option('--label <word>', 'only those with this label')
    .option('--kind <word>', 'only those of this kind')
    .option('--cursor <text>', 'go on where the page before ended')
    .action(
      withIo(world, async (io, options: Options) => {
        await using store = await io.openStore();
        const { items, cursor } = await store.contexts.list(toListOptions(options));
        if (io.json) for (const context of items) await io.printJson(context);
        else if (items.length > 0) await world.out(toContextTable(items));
        if (cursor === undefined) return;
        // Standard output holds contexts only, so what is needed to go on stands beside it.
        world.err(io.json ? `${JSON.stringify({ cursor })}\n` : `more: --cursor ${cursor}\n`);
      }),
    );
}

function toListOptions({ limit, label, kind, cursor }: Options): ListOptions {
  return {
    limit,
    ...(label !== undefined && { label }),
    ...(kind !== undefined && { kind }),
    ...(cursor !== undefined && { cursor }),
  };
}

function toContextTable(contexts: readonly Context[]): string {
  const headings = ['CONTEXT', 'HEAD', 'DEPTH', 'UPDATED', 'TITLE', 'LABELS'];
  const rows = contexts.map((context) => [
    String(context.id),
    String(context.head),
    String(context.headDepth),
    toTime(context.updatedAt),
    toPlainLine(context.title ?? '', TITLE_CHARS),
    context.labels.join(','),
  ]);
  return toTable(headings, rows, ['CONTEXT', 'HEAD', 'DEPTH']);
}
