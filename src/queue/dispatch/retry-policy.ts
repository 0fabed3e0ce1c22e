/** Decides when a handler that failed is run again. */
export interface RetryPolicy {
  /**
   * The number of failed runs in a row, without an event acknowledged between, before the consumer is marked failed.
   */
  readonly attempts: number;
  readonly firstPauseMs: number;
  readonly maxPauseMs: number;
}

/** About a minute in all: a fault that lasts longer waits for the next push. */
export const RETRY_POLICY: RetryPolicy = { attempts: 10, firstPauseMs: 100, maxPauseMs: 30_000 };

/** The pause after this many failures in a row. */
export function pauseMs({ firstPauseMs, maxPauseMs }: RetryPolicy, failures: number): number {
  return Math.min(maxPauseMs, firstPauseMs * 2 ** (failures - 1));
}
