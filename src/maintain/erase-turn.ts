import type { TurnId } from '../base/brand.ts';
import type { TurnEraseReport } from '../context/contexts.ts';
import { mustGetSealed } from '../context/read-turns.ts';
import type { Engine } from '../engine/engine.ts';
import { eraseBlobs } from './erase-blobs.ts';
import type { EraseRequest } from './erase-blobs.ts';

/** The payload of a turn and what patches laid over it go together; reasons of tombstones stay. */
export async function eraseTurn(
  engine: Engine,
  turn: TurnId,
  request: Pick<EraseRequest, 'reason' | 'everywhere' | 'atMs' | 'others'>,
): Promise<TurnEraseReport> {
  const { id, payload } = await mustGetSealed(engine, turn);
  const patches = (await engine.getPatches([id])).filter(({ tombstone }) => !tombstone);
  const hashes = new Set(patches.map((patch) => patch.payload));
  if (payload !== undefined) hashes.add(payload);
  const blobs = await eraseBlobs(engine, { ...request, hashes: [...hashes], turn: id });
  return { turn: id, erased: blobs.every(({ erased }) => erased), blobs };
}
