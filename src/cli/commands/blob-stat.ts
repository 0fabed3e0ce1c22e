import type { Command } from 'commander';
import { QuipuError } from '../../base/errors.ts';
import { defineCommand, withIo } from '../command.ts';
import { toSize } from '../quantity.ts';
import { toFacts } from '../table.ts';
import type { World } from '../world.ts';

export function blobStat(world: World): Command {
  return defineCommand('stat', 'Show the size of a blob and what it takes in the store.', [
    'quipu blob stat $hash',
    'quipu blob stat blob:sha256:$sum --json',
  ])
    .argument('<blob>', 'the hash, b3:<hash> or blob:sha256:<hex>')
    .action(
      withIo(world, async (io, ref: string) => {
        await using store = await io.openStore();
        const found = await store.blobs.stat(ref);
        if (found === undefined) {
          throw new QuipuError('NOT_FOUND', `there is no blob ${ref}`, { what: 'blob', id: ref });
        }
        if (io.json) return await io.printJson(found);
        return await world.out(
          toFacts([
            ['hash', found.hash],
            ['size', toSize(found.size)],
            ['stored', toSize(found.storedSize)],
            ['chunks', found.chunks === 0 ? 'none' : String(found.chunks)],
          ]),
        );
      }),
    );
}
