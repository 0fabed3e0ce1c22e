import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { stillUsed, toErasureJson } from '../erasure.ts';
import type { ErasureOptions } from '../erasure.ts';
import type { World } from '../world.ts';

export function blobErase(world: World): Command {
  return defineCommand('erase', 'Remove the bytes of a blob for good.', [
    'quipu blob erase $hash --reason "personal data"',
    'quipu blob erase $hash --reason "personal data" --everywhere',
  ])
    .argument('<blob>', 'the hash, b3:<hash> or blob:sha256:<hex>')
    .requiredOption('--reason <text>', 'why; shown in place of the payloads it was')
    .option('--everywhere', 'also when turns use it; each of them gets a tombstone')
    .action(
      withIo(world, async (io, ref: string, options: ErasureOptions) => {
        const { reason, everywhere = false } = options;
        await using store = await io.openStore();
        const report = await store.blobs.erase(ref, { reason, everywhere });
        if (io.json) await io.printJson(toErasureJson(report));
        else if (report.erased) await world.out(`${report.hash}\n`);
        if (!report.erased) throw stillUsed([report]);
      }),
    );
}
