import type { EngineStats } from '../engine.ts';
import { readLastBackup } from './backup/backup-note.ts';
import type { Core } from './core/core.ts';

// The figures of a folder. Counts are at hand; sizes take a walk through the folder.

/** The part of the store by the first part of a path. All other files are logs, their checksums or small. */
const PARTS: Readonly<Record<string, string>> = {
  blobs: 'blobs',
  turns: 'turns',
  docs: 'documents',
  journal: 'journal',
  queues: 'queues',
  sessions: 'sessions',
  index: 'index',
  search: 'search index',
  quarantine: 'quarantine',
};
const LOGS = /^(?:chats|chats-cache|erased|extents|logs|out|workflows)$/;

export async function readStats(
  core: Core,
  durability: 'safe' | 'unsafe',
  journal: NonNullable<EngineStats['journal']>,
): Promise<EngineStats> {
  const { turns, logicalBytes, blobs, blobBytes, storedBytes } = core.index.totals;
  const { contexts, logs, docs } = core.index.flushed().counts();
  const disk = await diskByPart(core);
  const lastBackup = await readLastBackup(core.files);
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
    diskBytes: disk.reduce((sum, { bytes }) => sum + bytes, 0),
    disk,
    ...(lastBackup !== undefined && { lastBackup }),
    damage: core.damage.places.map(({ file, offset, what }) => ({ file, offset, what })),
  };
}

async function diskByPart(core: Core): Promise<EngineStats['disk']> {
  const sizes = new Map<string, number>();
  for (const name of await core.files.io.list(core.files.pathOf(''))) {
    // `index.db-wal` belongs to `index.db`.
    const [first = ''] = name.split('.');
    const part = PARTS[first] ?? (LOGS.test(name) ? 'logs' : 'other');
    sizes.set(part, (sizes.get(part) ?? 0) + (await bytesAt(core, name)));
  }
  return [...sizes]
    .map(([part, bytes]) => ({ part, bytes }))
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => b.bytes - a.bytes);
}

async function bytesAt(core: Core, path: string): Promise<number> {
  const stat = await core.files.io.stat(core.files.pathOf(path));
  if (stat?.kind !== 'folder') return stat?.size ?? 0;
  let bytes = 0;
  for (const name of await core.files.io.list(core.files.pathOf(path))) {
    bytes += await bytesAt(core, `${path}/${name}`);
  }
  return bytes;
}
