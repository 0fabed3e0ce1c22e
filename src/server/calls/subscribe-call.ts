import { Bell } from '../../base/bell.ts';
import type { Engine } from '../../engine/engine.ts';
import { ChangeQueue } from './change-queue.ts';

/** Unsent changes. A reader that lags further behind is cut off, and must read the store itself when it is back. */
const QUEUE_BYTES_MAX = 8_388_608;

/**
 * The first item is `{ live: true }`: every commit after this item was sent will be reported. Each later item is `{
 * changes }`, all changes since the item before.
 */
export async function* tellChanges(
  engine: Engine,
  signal: AbortSignal,
): AsyncGenerator<unknown, void, undefined> {
  const bell = new Bell();
  const queue = new ChangeQueue(QUEUE_BYTES_MAX);
  const ring = (): void => bell.ring();
  const stop = engine.subscribe(
    (change) => {
      queue.add(change);
      bell.ring();
    },
    () => {
      queue.noteMissed();
      bell.ring();
    },
  );
  signal.addEventListener('abort', ring);
  try {
    yield { live: true };
    while (!signal.aborted) {
      const changes = queue.take();
      if (changes.length > 0) yield { changes };
      else await bell.wait();
    }
  } finally {
    stop();
    signal.removeEventListener('abort', ring);
  }
}
