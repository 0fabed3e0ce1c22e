import type { Command } from 'commander';
import type { Stats } from '../../store/maintain.ts';
import { nameOfPlace } from '../../postgres/address.ts';
import { defineCommand, withIo } from '../command.ts';
import { toSize } from '../quantity.ts';
import { toFacts } from '../table.ts';
import type { World } from '../world.ts';

export function stats(world: World): Command {
  return defineCommand('stats', 'Show counts, sizes and how much sharing saves.', [
    'quipu stats',
    'quipu stats --json',
  ]).action(
    withIo(world, async (io) => {
      await using store = await io.openStore();
      const found = await store.maintain.stats();
      await (io.json ? io.printJson(found) : world.out(toStatsFacts(nameOfPlace(io.place), found)));
    }),
  );
}

function toStatsFacts(place: string, found: Stats): string {
  return toFacts([
    ['store', place],
    ['engine', `${found.engine}, ${found.durability}`],
    ['contexts', String(found.contexts)],
    ['turns', String(found.turns)],
    ['patches', String(found.patches)],
    ['payloads', `${toSize(found.logicalBytes)} written`],
    ['blobs', `${found.blobs}, ${toSize(found.blobBytes)} as ${toSize(found.storedBytes)}`],
    ['dedup ratio', found.dedupRatio.toFixed(2)],
    ['logs', String(found.logs)],
    ['docs', String(found.docs)],
    ['on disk', toSize(found.diskBytes)],
  ]);
}
