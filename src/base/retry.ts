import { isQuipuError } from './errors.ts';

const FIRST_PAUSE_MS = 10;
const PAUSE_MS_MAX = 1000;

/** Before the next attempt. Grows, and differs from one to the next, so that many do not come back in step. */
export function pauseMs(attempt: number): number {
  const most = Math.min(PAUSE_MS_MAX, FIRST_PAUSE_MS * 2 ** Math.min(attempt, 10));
  return most * (0.5 + Math.random() / 2);
}

/** Each time one of the writers has made progress, so the limit only guards against "never". */
const TRIES_MAX = 200;

interface Race {
  /** True for an error that says that another writer was first. Default: for HEAD_MOVED. */
  readonly isLost?: (error: unknown) => boolean;
  /** Runs before the next try. */
  readonly lookAgain?: (() => unknown) | undefined;
}

/** Carries out what reads, decides, and commits on a condition: again, when another writer came in between. */
export async function untilFirst<T>(
  attempt: () => Promise<T>,
  { isLost = isHeadMoved, lookAgain }: Race = {},
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (tries === TRIES_MAX || !isLost(error)) throw error;
    }
    await lookAgain?.();
  }
}

function isHeadMoved(error: unknown): boolean {
  return isQuipuError(error, 'HEAD_MOVED');
}
