import { describe, expect, it } from 'vitest';
import { runWakeUps } from '../queue/wake-ups.ts';

describe('no wake-up is lost', () => {
  it.each([0, 0.1])('with 20 pushers, and handlers killed with probability %d', async (deadly) => {
    const load = { pushers: 20, consumers: 4, events: 2000, deadly };
    const good = { acknowledged: 2000, late: [], lost: [], others: [], twice: [] };
    expect(await runWakeUps(load)).toEqual(good);
  });
});
