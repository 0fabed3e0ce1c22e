import { expect, it, vi } from 'vitest';
import { timersFireEarly } from './early-timers.ts';

it('leaves the real clock behind, however often it is used, and whoever restores what', async () => {
  const real = globalThis.setTimeout;
  for (let time = 0; time < 2; time += 1) {
    {
      using _early = timersFireEarly(5);
      const began = performance.now();
      const fired: number[] = [];
      setTimeout(() => fired.push(performance.now() - began), 20);
      await vi.advanceTimersByTimeAsync(30);
      expect(fired).toEqual([15]);
    }
    vi.restoreAllMocks();
    expect(globalThis.setTimeout).toBe(real);
  }
});
