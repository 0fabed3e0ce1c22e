import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { Bell } from './bell.ts';
import { leavable } from './leavable.ts';

/** One item, and then none until it is aborted. */
async function* oneAndWait(
  signal: AbortSignal,
  ends: string[] = [],
): AsyncGenerator<number, void, undefined> {
  try {
    yield 1;
    await new Bell().wait(Infinity, signal).catch(() => undefined);
  } finally {
    ends.push('ended');
  }
}

describe('leavable', () => {
  it('lets a reader leave that waits', async () => {
    const ends: string[] = [];
    const items = leavable(undefined, (signal) => oneAndWait(signal, ends));
    expect(await items.next()).toEqual({ done: false, value: 1 });
    const waits = items.next();
    expect(await items.return()).toMatchObject({ done: true });
    expect(await waits).toMatchObject({ done: true });
    expect(ends).toEqual(['ended']);
  });

  it('would hang without it', async () => {
    const items = oneAndWait(new AbortController().signal);
    await items.next();
    void items.next();
    const left = items.return().then(() => 'left');
    const soon = new Promise((resolve) => setImmediate(resolve, 'hangs'));
    expect(await Promise.race([left, soon])).toBe('hangs');
  });

  it('ends with the signal of the caller, and leaves nothing at it', async () => {
    const stop = new AbortController();
    const listening = (): number => getEventListeners(stop.signal, 'abort').length;
    const items = leavable(stop.signal, oneAndWait);
    expect(listening()).toBe(0);
    await items.next();
    expect(listening()).toBe(1);
    const waits = items.next();
    stop.abort();
    expect(await waits).toMatchObject({ done: true });
    const others = leavable(new AbortController().signal, oneAndWait);
    for await (const item of others) {
      expect(item).toBe(1);
      break;
    }
    expect(await others.next()).toMatchObject({ done: true });
    expect(listening()).toBe(0);
  });
});
