import type { Hash, TurnId } from '../base/brand.ts';
import type { TurnEraseReport } from '../context/contexts.ts';
import { mustGetSealed } from '../context/turns/read-turns.ts';
import type { Engine } from '../engine/engine.ts';
import { NO_HASH } from '../format/patch-record.ts';
import { eraseBlobs } from './erase-blobs.ts';
import type { EraseRequest } from './erase-blobs.ts';

/** Erases the payload of a turn together with the payloads that patches laid over it. Reasons of tombstones stay. */
export async function eraseTurn(
  engine: Engine,
  turn: TurnId,
  request: Pick<EraseRequest, 'reason' | 'everywhere' | 'atMs' | 'others'>,
): Promise<TurnEraseReport> {
  const { id } = await mustGetSealed(engine, turn);
  const hashes = await hashesOf(engine, id);
  const gone = new Set<Hash>();
  for (const hash of hashes) if (!(await engine.hasBlob(hash))) gone.add(hash);
  const reports = await eraseBlobs(engine, { ...request, hashes, turn: id });
  // A caller that erases again learns no more than a reader.
  const blobs = reports.map((blob) => (gone.has(blob.hash) ? { ...blob, hash: NO_HASH } : blob));
  return { turn: id, erased: blobs.every(({ erased }) => erased), blobs };
}

/**
 * Reads the hashes from the records, which also tell what was erased: an unfinished attempt may have left parts behind.
 */
async function hashesOf(engine: Engine, turn: TurnId): Promise<Hash[]> {
  const { records } = engine.upkeep;
  const hashes = new Set<Hash>();
  for (const entry of await records.turns(turn, 1)) {
    if (entry.gone !== true && entry.row.payload !== undefined) hashes.add(entry.row.payload);
  }
  for (const { seq, tombstone } of await engine.getPatches([turn])) {
    const [entry] = tombstone ? [] : await records.patches(seq, 1);
    if (entry !== undefined && 'patch' in entry) hashes.add(entry.patch.payload);
  }
  return [...hashes];
}
