import { isQuipuError } from '../base/errors.ts';
import { pauseMs } from '../base/pause.ts';
import { isOutcomeUnknown } from './outcome.ts';

// Also for the client in a browser: nothing here is of Node.

/** For a request with all its attempts. */
export const TIMEOUT_MS_DEFAULT = 30_000;

export interface RetryPlan {
  /** For all attempts together. */
  readonly timeoutMs: number;
  /** The request may be sent again although it may have been carried out. */
  readonly repeatable: boolean;
  /** True once there is no use in trying. */
  readonly isOver: () => boolean;
  /** Hears of an attempt that failed before there is another one. */
  readonly onRetry?: (error: unknown) => void;
}

/** Tries until it works, the time is up, or trying again could do it twice. */
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

/** A first attempt that failed, and when it was begun. */
export interface FailedAttempt {
  readonly error: unknown;
  readonly begunAt: number;
}

/** Goes on after a first attempt, as `withRetries` does. */
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

/** Another attempt may go better: nobody answered, or one who was about to leave. */
export function isPassing(error: unknown): boolean {
  return ['UNAVAILABLE', 'CLOSED', 'TIMEOUT'].some(
    (code) => isQuipuError(error) && error.code === code,
  );
}
