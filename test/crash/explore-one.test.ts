import { expect, it } from 'vitest';
import { exploreLives } from './explore.ts';

/*
 * Invariant: wherever a crash comes, in the life of a store, while it is made, after a process was
 * killed or while another crash is being recovered from, the store opened next
 * - holds a prefix of the commits in the order they were sent, with every acknowledged one in it;
 *   it may hold some that were not acknowledged, and never holds half of one;
 * - finds every turn that a head names, and every payload that a turn names, with the bytes of its hash;
 * - reports no damage, hands out ids that nobody has, and applies a key once.
 */
const STATES = 20_000;

it(
  `keeps every promise in ${STATES} crashes, lives from seed 1 on`,
  { timeout: 240_000 },
  async () => {
    const count = await exploreLives(1, STATES);
    process.stdout.write(`${JSON.stringify(count)}\n`);
    expect(count.states).toBeGreaterThanOrEqual(STATES);
    expect(count.nested).toBeGreaterThan(STATES / 10);
    expect(count.distinctDisks).toBeGreaterThan(STATES / 2);
  },
);
