import type { Command } from 'commander';
import type { TurnId } from '../../base/brand.ts';
import { defineCommand, withIo } from '../command.ts';
import { exportChain } from '../export-chain.ts';
import type { ExportOptions } from '../export-chain.ts';
import { mustGetTurn } from '../must-get.ts';
import { parseTurnId } from '../parse-argument.ts';
import { addReadOptions } from '../read-options.ts';
import type { World } from '../world.ts';

export function contextChain(world: World): Command {
  return addReadOptions(
    defineCommand('chain', 'Print all turns from the root to a turn, one JSON object a line.', [
      'quipu context chain 12',
      'quipu context chain 12 --no-payload --out chain.ndjson',
    ])
      .argument('<turn>', 'turn id', parseTurnId)
      .option('--out <file>', 'write to this file; it appears when it is complete'),
  ).action(
    withIo(world, async (io, id: TurnId, options: ExportOptions) => {
      await using store = await io.openStore();
      const tip = await mustGetTurn(store, id, { payload: false });
      await exportChain(world, store, tip, options);
    }),
  );
}
