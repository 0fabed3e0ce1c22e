import type { Hash, TurnId } from '../base/brand.ts';
import type { Change } from '../engine/batch.ts';
import type { Engine } from '../engine/engine.ts';

/** The turns that use each of some blobs, as payload or through a patch, by rising id. */
export type BlobUsers = ReadonlyMap<Hash, readonly TurnId[]>;

/** Reads the records of all turns and patches once, and no payload. */
export async function findUsers(engine: Engine, hashes: readonly Hash[]): Promise<BlobUsers> {
  const found = new Map(hashes.map((hash) => [hash, new Set<TurnId>()]));
  const noted = { blob: () => undefined, turn: () => undefined };
  const collection = await engine.upkeep.startCollection({ graceMs: 0, noted });
  try {
    for await (const page of collection.turns()) {
      for (const { id, payload } of page) found.get(payload)?.add(id);
    }
    for await (const page of collection.patches()) {
      for (const { turn, payload } of page) found.get(payload)?.add(turn);
    }
  } finally {
    await collection.end();
  }
  return new Map([...found].map(([hash, turns]) => [hash, toSorted(turns)]));
}

/** The turns that a commit makes users of one of these blobs. */
export function usersIn(change: Change, hashes: ReadonlySet<Hash>): TurnId[] {
  const uses = (hash: Hash | undefined): boolean => hash !== undefined && hashes.has(hash);
  return [
    ...[...change.turns, ...change.sealed].filter((row) => uses(row.payload)).map(({ id }) => id),
    ...change.patches.filter((row) => uses(row.payload)).map(({ turn }) => turn),
  ];
}

function toSorted(turns: Iterable<TurnId>): TurnId[] {
  return [...turns].toSorted((a, b) => (a < b ? -1 : 1));
}
