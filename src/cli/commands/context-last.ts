import type { Command } from 'commander';
import type { ContextId } from '../../base/brand.ts';
import type { ReadOptions } from '../../context/contexts.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseContextId, parseCount } from '../parse-argument.ts';
import { addPageOptions, toReadOptions } from '../read-options.ts';
import { printPage } from '../print-page.ts';
import type { World } from '../world.ts';

interface Options extends ReadOptions {
  readonly limit: number;
}

export function contextLast(world: World): Command {
  return addPageOptions(
    defineCommand('last', 'Show the newest turns of a context, from older to newer.', [
      'quipu context last 1',
      'quipu context last 1 -n 64 --json',
      'quipu context last 1 --as original',
    ])
      .argument('<context>', 'context id', parseContextId)
      .option('-n, --limit <n>', 'how many at most', parseCount, 10),
  ).action(
    withIo(world, async (io, id: ContextId, options: Options) => {
      await using store = await io.openStore();
      const page = await store.contexts.last(id, options.limit, toReadOptions(options));
      await printPage(io, page, `quipu context before ${id}`);
    }),
  );
}
