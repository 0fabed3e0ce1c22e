import type { Command } from 'commander';
import type { TurnId } from '../../base/brand.ts';
import { defineCommand, withIo } from '../command.ts';
import { stillUsed, toErasureJson } from '../erasure.ts';
import type { ErasureOptions } from '../erasure.ts';
import { parseTurnId } from '../parse-argument.ts';
import type { World } from '../world.ts';

export function contextErase(world: World): Command {
  return defineCommand('erase', "Remove a turn's bytes for good; the hash and the reason stay.", [
    'quipu context erase 12 --reason "a password"',
    'quipu context erase 12 --reason "a password" --everywhere',
  ])
    .argument('<turn>', 'turn id', parseTurnId)
    .requiredOption('--reason <text>', 'why; shown in place of the payload')
    .option('--everywhere', 'also from the other turns that use the same bytes')
    .addHelpText('after', '\nPrints the hashes of what was erased. There is no way back.')
    .action(
      withIo(world, async (io, id: TurnId, options: ErasureOptions) => {
        const { reason, everywhere = false } = options;
        await using store = await io.openStore();
        const { turn, erased, blobs } = await store.contexts.erase(id, { reason, everywhere });
        if (io.json) {
          await io.printJson({ turn: String(turn), erased, blobs: blobs.map(toErasureJson) });
        } else if (erased) for (const { hash } of blobs) await world.out(`${hash}\n`);
        if (!erased) throw stillUsed(blobs, turn);
      }),
    );
}
