import type { Command } from 'commander';
import type { DetailsOptions } from '../context-options.ts';
import { addKeyOption, toKey } from '../append-options.ts';
import type { KeyFlag } from '../append-options.ts';
import { addDetailsOptions, toDetails } from '../context-options.ts';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

export function contextCreate(world: World): Command {
  const command = addDetailsOptions(
    defineCommand('create', 'Create an empty context and print its id.', [
      'ctx=$(quipu context create --title "fix the parser")',
      'quipu context create --label urgent --meta \'{"repo":"quipu"}\' --json',
    ]),
  );
  return addKeyOption(command).action(
    withIo(world, async (io, options: DetailsOptions & KeyFlag) => {
      await using store = await io.createStore();
      const context = await store.contexts.create({ ...toDetails(options), ...toKey(options) });
      await (io.json ? io.printJson(context) : world.out(`${context.id}\n`));
    }),
  );
}
