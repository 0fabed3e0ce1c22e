const FIRST_PAUSE_MS = 10;
const PAUSE_MS_MAX = 1000;

/** Before the next attempt. Grows, and differs from one to the next, so that many do not come back in step. */
export function pauseMs(attempt: number): number {
  const most = Math.min(PAUSE_MS_MAX, FIRST_PAUSE_MS * 2 ** Math.min(attempt, 10));
  return most * (0.5 + Math.random() / 2);
}
