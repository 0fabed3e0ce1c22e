import type { Command } from 'commander';
import type { ContextId } from '../../base/brand.ts';
import { NO_TURN } from '../../base/brand.ts';
import type { ReadOptions } from '../../context/contexts.ts';
import { defineCommand, withIo } from '../command.ts';
import { mustGetContext } from '../must-get.ts';
import { openOutput } from '../output.ts';
import { parseContextId } from '../parse-argument.ts';
import { startProgress } from '../progress-line.ts';
import { addReadOptions, toReadOptions } from '../read-options.ts';
import type { World } from '../world.ts';

interface Options extends ReadOptions {
  readonly out?: string;
}

export function contextExport(world: World): Command {
  return addReadOptions(
    defineCommand('export', 'Print all turns from the root to the head, one JSON object a line.', [
      'quipu context export 1 > context-1.ndjson',
      'quipu context export 1 --as original --out context-1.ndjson',
    ])
      .argument('<context>', 'context id', parseContextId)
      .option('--out <file>', 'write to this file; it appears when it is complete'),
  ).action(
    withIo(world, async (io, id: ContextId, options: Options) => {
      await using store = await io.openStore();
      const { head, headDepth } = await mustGetContext(store, id);
      await using output = await openOutput(world, options.out);
      const progress = startProgress(world);
      try {
        const turns = head === NO_TURN ? [] : store.contexts.chain(head, toReadOptions(options));
        for await (const turn of turns) {
          await output.write(`${JSON.stringify(turn)}\n`);
          // A bar in the middle of what is printed would only disturb.
          if (options.out !== undefined) progress.report(turn.depth + 1, headDepth + 1, 'turns');
        }
      } finally {
        progress.end();
      }
      await output.complete();
    }),
  );
}
