import { describe, expect, it } from 'vitest';
import { runWakeUps } from './wake-ups.ts';

describe('no wake-up is lost', { timeout: 180_000 }, () => {
  it('with many pushers at once', async () => {
    const load = { pushers: 6, consumers: 3, events: 300, deadly: 0 };
    const good = { acknowledged: 300, late: [], lost: [], others: [], twice: [] };
    expect(await runWakeUps(load)).toEqual(good);
  });

  it('with handlers that are killed at random', async () => {
    const load = { pushers: 2, consumers: 2, events: 60, deadly: 0.2 };
    const good = { acknowledged: 60, late: [], lost: [], others: [], twice: [] };
    expect(await runWakeUps(load)).toEqual(good);
  });
});
