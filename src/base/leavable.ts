/**
 * The items of a generator that waits for news, for a reader that may leave at any time. `return()` of a generator
 * stands in line behind a `next()` that waits: a stream that is destroyed would be left hanging until the next item.
 * Here leaving aborts the signal of the generator, which ends the wait. The signal aborts with `given`, too.
 */
export function leavable<T>(
  given: AbortSignal | undefined,
  begin: (signal: AbortSignal) => AsyncGenerator<T, void, undefined>,
): AsyncGenerator<T, void, undefined> {
  const left = new AbortController();
  const leave = (): void => left.abort(given?.reason);
  const items = begin(left.signal);
  let isOver = false;

  // The signal of a caller may outlive many readers: nothing listens to it before the first item or after the end.
  async function step(
    taken: () => Promise<IteratorResult<T, void>>,
  ): Promise<IteratorResult<T, void>> {
    if (given?.aborted === true) leave();
    else if (!isOver) given?.addEventListener('abort', leave, { once: true });
    let isLast = true;
    try {
      const result = await taken();
      isLast = result.done === true;
      return result;
    } finally {
      isOver ||= isLast;
      if (isOver) given?.removeEventListener('abort', leave);
    }
  }

  return {
    next: () => step(() => items.next()),
    return(value) {
      leave();
      return step(() => items.return(value));
    },
    throw(error) {
      leave();
      return step(() => items.throw(error));
    },
    [Symbol.asyncIterator]() {
      return this;
    },
    async [Symbol.asyncDispose]() {
      await this.return();
    },
  };
}
