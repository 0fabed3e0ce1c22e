import type { EngineStats } from '../engine.ts';
import type { Core } from './core/core.ts';

export async function readStats(
  core: Core,
  durability: 'safe' | 'unsafe',
  journal: NonNullable<EngineStats['journal']>,
): Promise<EngineStats> {
  const { turns, logicalBytes, blobs, blobBytes, storedBytes } = core.index.totals;
  const { contexts, logs, docs } = core.index.counts();
  return {
    engine: 'files',
    durability,
    turns,
    contexts,
    patches: core.tails.nextPatch - 1,
    blobs,
    blobBytes,
    storedBytes,
    logicalBytes,
    logs,
    docs,
    journal,
    diskBytes: await folderBytes(core, ''),
    damage: core.damage.places.map(({ file, offset, what }) => ({ file, offset, what })),
  };
}

async function folderBytes(core: Core, folder: string): Promise<number> {
  let bytes = 0;
  for (const name of await core.files.io.list(core.files.pathOf(folder))) {
    const path = folder === '' ? name : `${folder}/${name}`;
    const stat = await core.files.io.stat(core.files.pathOf(path));
    bytes += stat?.kind === 'folder' ? await folderBytes(core, path) : (stat?.size ?? 0);
  }
  return bytes;
}
