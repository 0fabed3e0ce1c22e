import { Bell } from '../../base/bell.ts';
import { QuipuError } from '../../base/errors.ts';
import type { Change } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Progress } from '../../engine/progress.ts';

// Calls with many answers: the changes of a store, and work that tells of its progress.

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

/** The bytes that a change costs in addition to its texts and bytes: its rows, and the object itself. */
const CHANGE_BYTES = 256;
const ROW_BYTES = 256;

/** Changes that wait for one reader, up to about `maxBytes`. */
export class ChangeQueue {
  readonly #maxBytes: number;
  #changes: Change[] = [];
  #bytes = 0;
  #missed = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(change: Change): void {
    if (this.#missed) return;
    this.#bytes += sizeOf(change);
    // A single change always fits, however large it is.
    if (this.#bytes > this.#maxBytes && this.#changes.length > 0) {
      this.noteMissed();
      return;
    }
    this.#changes.push(change);
  }

  /** Notes that some changes will never reach this queue. */
  noteMissed(): void {
    this.#missed = true;
    this.#changes = [];
  }

  /** The changes since the last call. UNAVAILABLE once some of them are missing. */
  take(): readonly Change[] {
    if (this.#missed) {
      throw new QuipuError(
        'UNAVAILABLE',
        'changes came faster than they were read; subscribe again',
        {
          what: 'subscription',
        },
      );
    }
    const taken = this.#changes;
    this.#changes = [];
    this.#bytes = 0;
    return taken;
  }
}

function sizeOf(change: Change): number {
  let bytes = CHANGE_BYTES;
  for (const delta of change.deltas) bytes += delta.bytes.length;
  for (const doc of change.docs) bytes += doc.content.length;
  for (const { meta } of change.contexts) bytes += JSON.stringify(meta).length;
  const rows = [change.contexts, change.turns, change.opened, change.sealed, change.patches];
  for (const list of [...rows, change.logs, change.docs, change.heads, change.deltas]) {
    bytes += list.length * ROW_BYTES;
  }
  return bytes;
}

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
