import type { Command } from 'commander';
import type { TurnId } from '../../base/brand.ts';
import type { DetailsOptions } from '../context-options.ts';
import { addKeyOption, toKey } from '../append-options.ts';
import type { KeyFlag } from '../append-options.ts';
import { addDetailsOptions, toDetails } from '../context-options.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseTurnId } from '../parse-argument.ts';
import type { World } from '../world.ts';

export function contextFork(world: World): Command {
  const command = addDetailsOptions(
    defineCommand('fork', 'Create a context that goes on from a turn, and print its id.', [
      'branch=$(quipu context fork 12)',
      'quipu context fork 12 --title "another way" --json',
      'quipu context fork 12 --key job-7',
    ]).argument('<turn>', 'the turn to go on from', parseTurnId),
  );
  return addKeyOption(command).action(
    withIo(world, async (io, turn: TurnId, options: DetailsOptions & KeyFlag) => {
      await using store = await io.openStore();
      const context = await store.contexts.fork(turn, { ...toDetails(options), ...toKey(options) });
      await (io.json ? io.printJson(context) : world.out(`${context.id}\n`));
    }),
  );
}
