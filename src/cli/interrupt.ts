/** The person at the terminal ended the command before it was through. */
export class Interrupted extends Error {
  override readonly name: string = 'Interrupted';
}

/** Yields values from `source` until it ends or the signal aborts, even while no value comes. */
export async function* untilAborted<T>(
  source: AsyncIterable<T>,
  signal: AbortSignal,
): AsyncIterable<T> {
  const iterator = source[Symbol.asyncIterator]();
  while (!signal.aborted) {
    const next = await nextOrAbort(iterator, signal);
    if (next === undefined || next.done === true) return;
    yield next.value;
  }
}

/** Adds a listener for each piece: one promise raced against all of them would hold on to every piece. */
async function nextOrAbort<T>(
  iterator: AsyncIterator<T, unknown>,
  signal: AbortSignal,
): Promise<IteratorResult<T, unknown> | undefined> {
  let stop: () => void = () => undefined;
  const aborted = new Promise<undefined>((resolve) => {
    stop = () => resolve(undefined);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([iterator.next(), aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
