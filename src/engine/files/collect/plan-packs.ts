/** The use of one pack, as the mark found it. */
export interface PackUse {
  readonly pack: number;
  readonly liveBytes: number;
  readonly deadBytes: number;
  /** The number of places that the index has in the pack. */
  readonly places: number;
}

export interface PackPlan {
  /** The packs to rewrite, in this order: packs that free room without needing any come first. */
  readonly rewrite: readonly PackUse[];
  /** Dead bytes in packs that are left alone. */
  readonly keptDeadBytes: number;
}

/** Decides which packs are worth rewriting. Deletes nothing. */
export function planPacks(uses: readonly PackUse[], deadShare: number): PackPlan {
  const worth = uses.filter(
    ({ liveBytes, deadBytes }) => deadBytes > 0 && deadBytes >= deadShare * (liveBytes + deadBytes),
  );
  const rewritten = new Set(worth.map(({ pack }) => pack));
  const left = uses.filter(({ pack }) => !rewritten.has(pack));
  return {
    rewrite: worth.toSorted((a, b) => a.liveBytes - b.liveBytes || a.pack - b.pack),
    keptDeadBytes: left.reduce((sum, { deadBytes }) => sum + deadBytes, 0),
  };
}

/** Cuts a plan into groups whose places fit into memory together, each of at least one pack. */
export function* groupPacks(uses: readonly PackUse[], placesMax: number): Generator<PackUse[]> {
  let group: PackUse[] = [];
  let places = 0;
  for (const use of uses) {
    if (group.length > 0 && places + use.places > placesMax) {
      yield group;
      group = [];
      places = 0;
    }
    group.push(use);
    places += use.places;
  }
  if (group.length > 0) yield group;
}
