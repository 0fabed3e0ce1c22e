/** What the mark found in one pack. */
export interface PackUse {
  readonly pack: number;
  readonly liveBytes: number;
  readonly deadBytes: number;
}

export interface PackPlan {
  /** In this order: packs that free room without needing any come first. */
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
