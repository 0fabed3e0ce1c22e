import type { Hash, TurnId } from '../base/brand.ts';
import type { Change } from '../engine/batch.ts';
import type { Engine } from '../engine/engine.ts';

export interface BlobUsers {
  /** The turns that use each of some blobs, by rising id. */
  readonly byBlob: ReadonlyMap<Hash, readonly TurnId[]>;
  /** The turns among them that show a blob, as payload or through a patch: without the blob they need a tombstone. */
  readonly showing: ReadonlySet<TurnId>;
}

/** Reads the records of all turns and patches once, and no payload. */
export async function findUsers(engine: Engine, hashes: readonly Hash[]): Promise<BlobUsers> {
  const found = new Map(hashes.map((hash) => [hash, new Set<TurnId>()]));
  const showing = new Set<TurnId>();
  const use = (turn: TurnId, payload: Hash, shows: boolean): void => {
    if (found.get(payload)?.add(turn) !== undefined && shows) showing.add(turn);
  };
  const noted = { blob: () => undefined, turn: () => undefined };
  const collection = await engine.upkeep.startCollection({ graceMs: 0, noted });
  try {
    for await (const page of collection.turns()) {
      for (const { id, payload } of page) use(id, payload, true);
    }
    for await (const page of collection.patches()) {
      for (const { turn, payload, fsRoot } of page) use(turn, payload, !fsRoot);
    }
  } finally {
    await collection.end();
  }
  return { byBlob: new Map([...found].map(([hash, turns]) => [hash, toSorted(turns)])), showing };
}

/** The turns that a commit makes show one of these blobs. */
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
