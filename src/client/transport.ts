import { QuipuError, isQuipuError } from '../base/errors.ts';
import { pauseMs } from '../base/retry.ts';

// A transport carries a verb to a server: over a socket or over HTTP. The code above does not know which.
//
// Errors are the QuipuErrors that the server threw. When the connection was lost before the answer came, the error is
// UNAVAILABLE, and `isOutcomeUnknown` says whether the request may have been carried out.

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

export interface Transport {
  call(method: string, args: readonly unknown[], options?: CallOptions): Promise<unknown>;
  /** Ending the iteration tells the server to stop. */
  stream(method: string, args: readonly unknown[], options?: CallOptions): AsyncIterable<unknown>;
  upload(
    method: string,
    args: readonly unknown[],
    body: AsyncIterable<Uint8Array>,
    options?: CallOptions,
  ): Promise<unknown>;
  /** Idempotent. Requests in progress get CLOSED. */
  close(): Promise<void>;
}

/** True when a request may have been carried out although it failed. */
export function isOutcomeUnknown(error: unknown): boolean {
  if (!isQuipuError(error)) return false;
  return 'outcome' in error.data && error.data.outcome === 'unknown';
}

/** The error for a request that did not reach the server, or that the server did not carry out. */
export function unavailable(message: string, cause?: unknown): QuipuError<'UNAVAILABLE'> {
  return new QuipuError('UNAVAILABLE', message, { what: 'server' }, { cause });
}

/** The error for a request that was on its way when the server went out of reach. */
export function outcomeUnknown(message: string, cause?: unknown): QuipuError<'UNAVAILABLE'> {
  const data = { what: 'server', outcome: 'unknown' } as const;
  return new QuipuError('UNAVAILABLE', message, data, { cause });
}

/** `sent` says whether the server may have the request. */
export function timedOut(what: string, afterMs: number, sent: boolean): QuipuError<'TIMEOUT'> {
  const message = `${what} was not answered within ${afterMs} ms`;
  return new QuipuError('TIMEOUT', message, {
    what,
    afterMs,
    ...(sent && { outcome: 'unknown' as const }),
  });
}

/** A server that ran out of time cannot tell the outcome of the request. */
export function fromServer(error: QuipuError): QuipuError {
  if (!isQuipuError(error, 'TIMEOUT')) return error;
  const data = { ...error.data, outcome: 'unknown' } as const;
  return new QuipuError('TIMEOUT', error.message, data);
}

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
  return isQuipuError(error) && ['UNAVAILABLE', 'CLOSED', 'TIMEOUT'].includes(error.code);
}
