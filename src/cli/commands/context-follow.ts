import type { Command } from 'commander';
import type { ContextId, TurnId } from '../../base/brand.ts';
import type { ReadOptions } from '../../context/contexts.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseContextId, parseCount, parseTurnId } from '../parse-argument.ts';
import { addReadOptions, toReadOptions } from '../read-options.ts';
import { toTurnLine } from '../show-turn.ts';
import type { World } from '../world.ts';

interface Options extends ReadOptions {
  readonly after?: TurnId;
  readonly count?: number;
}

export function contextFollow(world: World): Command {
  return addReadOptions(
    defineCommand('follow', 'Print the turns of a context, then every new one until Ctrl-C.', [
      'quipu context follow 1',
      'quipu context follow 1 --after 120 --json',
      'quipu context follow 1 -n 3',
    ])
      .argument('<context>', 'context id', parseContextId)
      .option('--after <turn>', 'begin after this turn', parseTurnId)
      .option('-n, --count <n>', 'end after so many turns', parseCount),
  ).action(
    withIo(world, async (io, id: ContextId, options: Options) => {
      const { after, count = Infinity } = options;
      if (count === 0) return;
      await using store = await io.openStore();
      const signal = world.catchInterrupt();
      let printed = 0;
      const turns = store.contexts.follow(id, {
        ...toReadOptions(options),
        ...(after !== undefined && { after }),
        signal,
      });
      for await (const turn of turns) {
        await (io.json ? io.printJson(turn) : world.out(toTurnLine(turn)));
        printed += 1;
        if (printed >= count) return;
      }
    }),
  );
}
