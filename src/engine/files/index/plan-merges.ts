/** This many runs of about one size become one run of the next size. */
export const FAN_IN = 6;

/** Runs below this size count as one size: merging them again costs almost nothing. */
const SMALLEST_TIER_ENTRIES = 512;

/** A run that would grow past this stays as it is. */
const RUN_ENTRIES_MAX = 32 * 1024 * 1024;

export interface RunSize {
  readonly id: number;
  readonly entries: number;
}

/** Decides which idle runs are merged. Every group has runs of one tier, the smallest tier first. */
export function planMerges(idle: readonly RunSize[]): RunSize[][] {
  const tiers = new Map<number, RunSize[]>();
  for (const run of idle) {
    const tier = tierOf(run.entries);
    const peers = tiers.get(tier);
    if (peers === undefined) tiers.set(tier, [run]);
    else peers.push(run);
  }
  return [...tiers]
    .filter(([, peers]) => peers.length >= FAN_IN && totalEntries(peers) <= RUN_ENTRIES_MAX)
    .sort(([a], [b]) => a - b)
    .map(([, peers]) => peers);
}

function tierOf(entries: number): number {
  const ratio = Math.max(1, entries / SMALLEST_TIER_ENTRIES);
  return Math.floor(Math.log(ratio) / Math.log(FAN_IN));
}

export function totalEntries(runs: readonly RunSize[]): number {
  return runs.reduce((sum, run) => sum + run.entries, 0);
}
