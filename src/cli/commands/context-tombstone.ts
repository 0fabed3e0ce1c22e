import type { Command } from 'commander';
import type { TurnId } from '../../base/brand.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseCount, parseTurnId } from '../parse-argument.ts';
import type { World } from '../world.ts';

interface Options {
  readonly reason: string;
  readonly expectSeq?: number;
}

export function contextTombstone(world: World): Command {
  return defineCommand('tombstone', "Hide a turn's payload and print the number of the patch.", [
    'quipu context tombstone 12 --reason "posted by mistake"',
  ])
    .argument('<turn>', 'turn id', parseTurnId)
    .requiredOption('--reason <text>', 'why; shown in place of the payload')
    .option(
      '--expect-seq <n>',
      "only if this is the turn's newest patch (0: only if it has none)",
      parseCount,
    )
    .addHelpText('after', '\nThe bytes stay in the store, and --as original still shows them.')
    .action(
      withIo(world, async (io, id: TurnId, options: Options) => {
        const { reason, expectSeq: expectedSeq } = options;
        await using store = await io.openStore();
        const patch = await store.contexts.tombstone(id, reason, {
          ...(expectedSeq !== undefined && { expectedSeq }),
        });
        await (io.json ? io.printJson(patch) : world.out(`${patch.seq}\n`));
      }),
    );
}
