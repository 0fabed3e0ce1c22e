/** When a handler that failed is run again. */
export interface RetryPolicy {
  /** Runs in a row that fail, without an event acknowledged between, before the consumer is marked failed. */
  readonly attempts: number;
  readonly firstPauseMs: number;
  readonly maxPauseMs: number;
}

/** About a minute in all: what takes longer to mend waits for the next push. */
export const RETRY_POLICY: RetryPolicy = { attempts: 10, firstPauseMs: 100, maxPauseMs: 30_000 };

/** After so many failures in a row. */
export function pauseMs({ firstPauseMs, maxPauseMs }: RetryPolicy, failures: number): number {
  return Math.min(maxPauseMs, firstPauseMs * 2 ** (failures - 1));
}
