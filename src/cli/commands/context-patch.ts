import type { Command } from 'commander';
import type { TurnId } from '../../base/brand.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseCount, parseTurnId } from '../parse-argument.ts';
import type { PayloadOptions } from '../payload-options.ts';
import { addPayloadOptions, readPayload } from '../payload-options.ts';
import type { World } from '../world.ts';

interface Options extends PayloadOptions {
  readonly expectSeq?: number;
}

export function contextPatch(world: World): Command {
  return addPayloadOptions(
    defineCommand('patch', 'Lay a new payload over a turn and print the number of the patch.', [
      "quipu context patch 12 --text 'what I meant to say'",
      'quipu context patch 12 --stdin --encoding json --expect-seq 0 < fixed.json',
    ])
      .argument('<turn>', 'turn id', parseTurnId)
      .option(
        '--expect-seq <n>',
        "only if this is the turn's newest patch (0: only if it has none)",
        parseCount,
      ),
  ).action(
    withIo(world, async (io, id: TurnId, options: Options) => {
      const { payload, encoding } = await readPayload(io, options);
      const { expectSeq: expectedSeq } = options;
      await using store = await io.openStore();
      const patch = await store.contexts.patch(id, payload, {
        encoding,
        ...(expectedSeq !== undefined && { expectedSeq }),
      });
      await (io.json ? io.printJson(patch) : world.out(`${patch.seq}\n`));
    }),
  );
}
