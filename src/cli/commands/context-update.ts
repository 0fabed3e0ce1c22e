import type { Command } from 'commander';
import { Option } from 'commander';
import type { ContextId } from '../../base/brand.ts';
import { invalid } from '../../base/errors.ts';
import type { ContextUpdate } from '../../context/contexts.ts';
import type { DetailsOptions } from '../context-options.ts';
import { addDetailsOptions, toDetails } from '../context-options.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseContextId } from '../parse-argument.ts';
import type { World } from '../world.ts';

const FIELDS = ['title', 'kind', 'labels', 'meta'] as const;

interface Options extends DetailsOptions {
  readonly clear?: readonly (typeof FIELDS)[number][];
}

export function contextUpdate(world: World): Command {
  return addDetailsOptions(
    defineCommand('update', 'Change what is said about a context; the rest stays as it is.', [
      'quipu context update 1 --title "fixed the parser"',
      'quipu context update 1 --label done --label parser --clear meta',
    ]).argument('<context>', 'context id', parseContextId),
  )
    .addOption(new Option('--clear <field...>', 'forget these').choices(FIELDS))
    .action(
      withIo(world, async (io, id: ContextId, options: Options) => {
        const change = toChange(options);
        await using store = await io.openStore();
        const context = await store.contexts.update(id, change);
        if (io.json) await io.printJson(context);
      }),
    );
}

function toChange(options: Options): ContextUpdate {
  const given = toDetails(options);
  const { clear = [] } = options;
  const twice = clear.find((field) => field in given);
  if (twice !== undefined) throw invalid('--clear', `names ${twice}, which is also given a value`);
  const change = { ...given, ...Object.fromEntries(clear.map((field) => [field, null])) };
  if (Object.keys(change).length > 0) return change;
  throw invalid('change', 'is missing; give --title, --kind, --label, --meta or --clear');
}
