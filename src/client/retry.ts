import { isQuipuError } from '../base/errors.ts';
import { pauseMs } from '../base/retry.ts';
import { isOutcomeUnknown } from './transport.ts';

// The client in a browser uses this too, so nothing here depends on Node.

/** The time for a request with all its attempts. */
export const TIMEOUT_MS_DEFAULT = 30_000;

export interface RetryPlan {
  /** The time for all attempts together. */
  readonly timeoutMs: number;
  /** The request may be sent again although it may have been carried out. */
  readonly repeatable: boolean;
  /** True once further attempts are useless. */
  readonly isOver: () => boolean;
  /** Called with the error of a failed attempt before the next one. */
  readonly onRetry?: (error: unknown) => void;
}

/** Tries until the work succeeds, the time is up, or another attempt could do the work twice. */
export async function withRetries<T>(
  work: (timeoutMs: number) => Promise<T>,
  plan: RetryPlan,
): Promise<T> {
  const begunAt = Date.now();
  try {
    return await work(plan.timeoutMs);
  } catch (error) {
    return tryAgain({ error, begunAt }, work, plan);
  }
}

/** A failed first attempt, and the time at which it began. */
export interface FailedAttempt {
  readonly error: unknown;
  readonly begunAt: number;
}

/** Continues after a first attempt, as `withRetries` does. */
export async function tryAgain<T>(
  first: FailedAttempt,
  work: (timeoutMs: number) => Promise<T>,
  plan: RetryPlan,
): Promise<T> {
  const deadline = first.begunAt + plan.timeoutMs;
  let { error } = first;
  for (let attempt = 0; ; attempt += 1) {
    const pause = pauseMs(attempt);
    if (!isPassing(error) || plan.isOver() || Date.now() + pause >= deadline) throw error;
    if (isOutcomeUnknown(error) && !plan.repeatable) throw error;
    plan.onRetry?.(error);
    await new Promise((resolve) => setTimeout(resolve, pause));
    try {
      return await work(Math.max(1, deadline - Date.now()));
    } catch (next) {
      error = next;
    }
  }
}

/** True when another attempt may succeed: no server answered, or one that was shutting down did. */
export function isPassing(error: unknown): boolean {
  return ['UNAVAILABLE', 'CLOSED', 'TIMEOUT'].some(
    (code) => isQuipuError(error) && error.code === code,
  );
}
