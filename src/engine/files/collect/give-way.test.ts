import { describe, expect, it } from 'vitest';
import { GiveWay } from './give-way.ts';

async function msOf(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

describe('giving way', () => {
  it('is due after some work, and not right after a rest', async () => {
    let ms = 0;
    const way = new GiveWay({ settle: async () => undefined, now: () => ms });
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
    await new GiveWay({ settle }).breathe();
    expect(settled).toBe(true);
  });

  it('does not wait forever for those who always have one more', async () => {
    const way = new GiveWay({ settle: () => new Promise(() => undefined) });
    expect(await msOf(() => way.breathe())).toBeGreaterThan(5);
  });
});
