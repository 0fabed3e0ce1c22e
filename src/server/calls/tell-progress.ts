import type { Progress } from '../../engine/progress.ts';
import { Bell } from '../../base/bell.ts';

const PAUSE_MS = 100;

/**
 * Turns long work into a stream: `{ progress: [done, total, what] }` a few times a second, only the newest each time,
 * and `{ result }` last. Work that has begun goes on when its caller goes away: half an erasure helps nobody.
 */
export async function* tellProgress(
  work: (progress: Progress) => Promise<unknown>,
  clock: () => number = Date.now,
): AsyncGenerator<unknown, void, undefined> {
  const bell = new Bell();
  let newest: Parameters<Progress> | undefined;
  let toldAt = Number.NEGATIVE_INFINITY;
  let isOver = false;
  const done = work((...progress) => {
    newest = progress;
    if (clock() - toldAt >= PAUSE_MS) bell.ring();
  }).finally(() => {
    isOver = true;
    bell.ring();
  });
  // The caller may be gone when the work fails, and the failure is not the server's.
  done.catch(() => undefined);
  for (;;) {
    await bell.wait();
    if (isOver) break;
    toldAt = clock();
    yield { progress: newest };
  }
  yield { result: await done };
}
