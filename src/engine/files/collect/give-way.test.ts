import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { GiveWay } from './give-way.ts';

describe('giving way', () => {
  it('is due after some work, and not right after a rest', async () => {
    let ms = 0;
    const way = new GiveWay(
      async () => undefined,
      () => ms,
    );
    expect(way.isDue).toBe(false);
    ms += 5;
    expect(way.isDue).toBe(true);
    await way.breathe();
    expect(way.isDue).toBe(false);
  });

  it('waits for the commits under way', async () => {
    let settled = false;
    const settle = async (): Promise<void> => {
      for (let steps = 0; steps < 100; steps += 1) await Promise.resolve();
      settled = true;
    };
    await new GiveWay(settle).breathe();
    expect(settled).toBe(true);
  });

  it('does not wait forever for those who always have one more', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const way = new GiveWay(() => new Promise(() => undefined));
    let isOver = false;
    const breathing = way.breathe().then(() => (isOver = true));
    vi.advanceTimersByTime(7);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(isOver).toBe(false);
    vi.advanceTimersByTime(1);
    expect(await breathing).toBe(true);
  });
});
