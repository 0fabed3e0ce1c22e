import type { Command } from 'commander';
import type { ContextId } from '../../base/brand.ts';
import type { ReadOptions } from '../../context/contexts.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseContextId, parseCount } from '../parse-argument.ts';
import { addPageOptions, toReadOptions } from '../read-options.ts';
import { printTurns } from '../show-turn.ts';
import type { World } from '../world.ts';

export function contextRange(world: World): Command {
  return addPageOptions(
    defineCommand('range', 'Show the turns of a context by depth; the first turn has depth 0.', [
      'quipu context range 1 0 10',
      'quipu context range 1 1000 1064 --json',
    ])
      .argument('<context>', 'context id', parseContextId)
      .argument('<from>', 'the first depth', parseCount)
      .argument('<to>', 'the depth to stop before', parseCount),
  ).action(
    withIo(world, async (io, id: ContextId, ...rest: [number, number, ReadOptions]) => {
      const [from, to, options] = rest;
      await using store = await io.openStore();
      const page = await store.contexts.range(id, from, to, toReadOptions(options));
      await printTurns(io, page.turns);
      if (page.nextDepth === undefined) return;
      const { nextDepth } = page;
      world.err(
        io.json
          ? `${JSON.stringify({ nextDepth })}\n`
          : `more: quipu context range ${id} ${nextDepth} ${to}\n`,
      );
    }),
  );
}
