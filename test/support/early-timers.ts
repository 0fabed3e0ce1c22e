import { vi } from 'vitest';

/**
 * Time stands still until `vi.advanceTimersByTimeAsync` moves it on, and every timer fires up to `earlyMs` too early, as
 * one of Node may that was set in a busy loop. Disposing brings the real clock back.
 */
export function timersFireEarly(earlyMs: number): Disposable {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const { setTimeout } = globalThis;
  const early = (callback: () => void, ms = 0): NodeJS.Timeout =>
    setTimeout(callback, Math.max(1, ms - earlyMs));
  // No spy: who restores all spies later would bring back the clock that stands still.
  globalThis.setTimeout = early as typeof setTimeout;
  return {
    [Symbol.dispose]: () => {
      // Only its own function is taken away again.
      globalThis.setTimeout = setTimeout;
      vi.useRealTimers();
    },
  };
}
