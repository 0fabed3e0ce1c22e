import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { toTable } from '../table.ts';
import type { World } from '../world.ts';

export function contextPins(world: World): Command {
  return defineCommand('pins', 'List the pinned turns.', [
    'quipu context pins',
    'quipu context pins --json',
  ]).action(
    withIo(world, async (io) => {
      await using store = await io.openStore();
      const pins = (await store.contexts.pins()).map((pin) => ({ ...pin, turn: String(pin.turn) }));
      if (io.json) for (const pin of pins) await io.printJson(pin);
      if (io.json || pins.length === 0) return;
      const rows = pins.map(({ turn, reason = '' }) => [turn, reason]);
      await world.out(toTable(['TURN', 'REASON'], rows, ['TURN']));
    }),
  );
}
