import type { Command } from 'commander';
import type { ContextId, TurnId } from '../../base/brand.ts';
import type { ReadOptions } from '../../context/contexts.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseContextId, parseCount, parseTurnId } from '../parse-argument.ts';
import { addPageOptions, toReadOptions } from '../read-options.ts';
import { printPage } from '../print-page.ts';
import type { World } from '../world.ts';

interface Options extends ReadOptions {
  readonly limit: number;
}

export function contextBefore(world: World): Command {
  return addPageOptions(
    defineCommand('before', 'Show the turns before a turn, from older to newer.', [
      'quipu context before 1 120',
      'quipu context before 1 120 -n 64 --json',
    ])
      .argument('<context>', 'context id', parseContextId)
      .argument('<turn>', 'the turn that comes after them', parseTurnId)
      .option('-n, --limit <n>', 'how many at most', parseCount, 10),
  ).action(
    withIo(world, async (io, id: ContextId, turn: TurnId, options: Options) => {
      await using store = await io.openStore();
      const page = await store.contexts.before(id, turn, options.limit, toReadOptions(options));
      await printPage(io, page, `quipu context before ${id}`);
    }),
  );
}
