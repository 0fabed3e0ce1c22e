import type { Command } from 'commander';
import type { ContextId } from '../../base/brand.ts';
import { NO_TURN } from '../../base/brand.ts';
import { defineCommand, withIo } from '../command.ts';
import { exportChain } from '../export-chain.ts';
import type { ExportOptions } from '../export-chain.ts';
import { mustGetContext } from '../must-get.ts';
import { parseContextId } from '../parse-argument.ts';
import { addReadOptions } from '../read-options.ts';
import type { World } from '../world.ts';

export function contextExport(world: World): Command {
  return addReadOptions(
    defineCommand('export', 'Print all turns from the root to the head, one JSON object a line.', [
      'quipu context export 1 > context-1.ndjson',
      'quipu context export 1 --as original --out context-1.ndjson',
    ])
      .argument('<context>', 'context id', parseContextId)
      .option('--out <file>', 'write to this file; it appears when it is complete'),
  ).action(
    withIo(world, async (io, id: ContextId, options: ExportOptions) => {
      await using store = await io.openStore();
      const { head, headDepth: depth } = await mustGetContext(store, id);
      const tip = head === NO_TURN ? undefined : { id: head, depth };
      await exportChain(world, store, tip, options);
    }),
  );
}
