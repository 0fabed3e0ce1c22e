/**
 * The items of a stream, and `undefined` whenever none came for `everyMs`. Pulls one item at a time, so a slow reader
 * costs one item.
 */
export async function* withHeartbeats<T>(
  items: AsyncIterable<T>,
  everyMs: number,
): AsyncGenerator<T | undefined, void, undefined> {
  const iterator = items[Symbol.asyncIterator]();
  let next: Promise<IteratorResult<T>> | undefined;
  try {
    for (;;) {
      next ??= iterator.next();
      const came = await raceWithTimer(next, everyMs);
      if (came === 'late') {
        yield undefined;
        continue;
      }
      next = undefined;
      if (came.done === true) return;
      yield came.value;
    }
  } finally {
    // A pull that is still waiting ends by its signal; nobody is left to hear of its failure.
    next?.catch(() => undefined);
    void iterator.return?.().catch(() => undefined);
  }
}

async function raceWithTimer<T>(promise: Promise<T>, ms: number): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
