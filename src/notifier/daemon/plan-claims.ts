export interface ClaimView {
  /** Pending ids. The one that has waited longest is first. */
  readonly line: readonly string[];
  readonly running: ReadonlySet<string>;
  /** The number of tasks that may run side by side. */
  readonly limit: number;
}

/** Returns the tasks to start now: those first in line, but never an id beside itself. */
export function planClaims({ line, running, limit }: ClaimView): string[] {
  const free = Math.max(0, limit - running.size);
  const ready = line.filter((id) => !running.has(id));
  return [...new Set(ready)].slice(0, free);
}
