export interface ClaimView {
  /** Pending ids, the longest waiting first. */
  readonly line: readonly string[];
  readonly running: ReadonlySet<string>;
  /** How many may run side by side. */
  readonly limit: number;
}

/** Whom to start now: those first in line, but never an id beside itself. */
export function planClaims({ line, running, limit }: ClaimView): string[] {
  const free = Math.max(0, limit - running.size);
  const ready = line.filter((id) => !running.has(id));
  return [...new Set(ready)].slice(0, free);
}
