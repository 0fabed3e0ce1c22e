import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LeaseKeeper } from './run-lease.ts';

const LEASE_MS = 1000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** After how long the lease was given up, if it was within `ms`. */
async function lostAfter(renew: () => Promise<boolean>, ms: number): Promise<number | undefined> {
  const began = performance.now();
  const keeper = new LeaseKeeper(renew, LEASE_MS, began);
  let lostAt: number | undefined;
  keeper.lost.addEventListener('abort', () => (lostAt = performance.now() - began));
  await vi.advanceTimersByTimeAsync(ms);
  keeper.stop();
  return lostAt;
}

describe('a lease', () => {
  it('is kept for as long as the database says so', async () => {
    const renew = vi.fn<() => Promise<boolean>>(async () => true);
    expect(await lostAfter(renew, 10 * LEASE_MS)).toBeUndefined();
    expect(renew.mock.calls.length).toBeGreaterThan(20);
  });

  it('is given up at once when it is another’s', async () => {
    expect(await lostAfter(async () => false, LEASE_MS)).toBeLessThan(LEASE_MS / 2);
  });

  it.each<[string, () => Promise<boolean>]>([
    ['does not answer', () => new Promise(() => undefined)],
    ['is away', () => Promise.reject(new Error('away'))],
  ])('is given up before its time is over when the database %s', async (_, renew) => {
    expect(await lostAfter(renew, 2 * LEASE_MS)).toBeLessThan(LEASE_MS);
  });

  it('is given up in time when the database answers late', async () => {
    // The first answer comes when it is worth little: what counts is when it was asked for.
    const late = async (): Promise<boolean> => {
      await new Promise((resolve) => {
        setTimeout(resolve, 700);
      });
      return true;
    };
    expect(await lostAfter(late, 3 * LEASE_MS)).toBeLessThan(LEASE_MS);
  });

  it('is nobody’s concern after the work', async () => {
    const renew = vi.fn<() => Promise<boolean>>(async () => false);
    new LeaseKeeper(renew, LEASE_MS, performance.now()).stop();
    await vi.advanceTimersByTimeAsync(5 * LEASE_MS);
    expect(renew).not.toHaveBeenCalled();
  });
});
