import type { Command } from 'commander';
import type { TurnId } from '../../base/brand.ts';
import { NO_TURN } from '../../base/brand.ts';
import type { ReadOptions } from '../../context/contexts.ts';
import type { Turn } from '../../context/turn.ts';
import { defineCommand, withIo } from '../command.ts';
import { mustGetTurn } from '../must-get.ts';
import { parseTurnId } from '../parse-argument.ts';
import { toSize, toTime } from '../quantity.ts';
import { addReadOptions, toReadOptions } from '../read-options.ts';
import { toPreview } from '../show-turn.ts';
import { toFacts } from '../table.ts';
import type { World } from '../world.ts';

interface Options extends ReadOptions {
  readonly raw?: boolean;
}

export function contextTurn(world: World): Command {
  return addReadOptions(
    defineCommand('turn', 'Show one turn.', [
      'quipu context turn 12',
      'quipu context turn 12 --raw > payload.json',
      'quipu context turn 12 --as original --json',
    ])
      .argument('<turn>', 'turn id', parseTurnId)
      .option('--raw', "print the payload's bytes and nothing else"),
  ).action(
    withIo(world, async (io, id: TurnId, options: Options) => {
      await using store = await io.openStore();
      const turn = await mustGetTurn(store, id, toReadOptions(options));
      if (options.raw === true) await world.out(turn.bytes ?? '');
      else await (io.json ? io.printJson(turn) : world.out(toTurnFacts(turn)));
    }),
  );
}

function toTurnFacts(turn: Turn): string {
  return toFacts([
    ['turn', String(turn.id)],
    ['context', String(turn.context)],
    ['parent', turn.parent === NO_TURN ? 'none' : String(turn.parent)],
    ['depth', String(turn.depth)],
    ['type', `${turn.type} version ${turn.version}`],
    ['encoding', String(turn.encoding)],
    ['created', toTime(turn.createdAt)],
    ['size', toSize(turn.size)],
    ['hash', turn.payloadHash ?? (turn.tombstone ? 'erased' : 'none yet')],
    ['payload', toPreview(turn)],
  ]);
}
