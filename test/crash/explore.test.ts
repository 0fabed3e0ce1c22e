import { expect, it } from 'vitest';
import { exploreInProcesses } from './explore-in-processes.ts';

/*
 * Invariant: wherever a crash comes, in the life of a store, while it is made, after a process was
 * killed or while another crash is being recovered from, the store opened next
 * - holds a prefix of the commits in the order they were sent, with every acknowledged one in it;
 *   it may hold some that were not acknowledged, and never holds half of one;
 * - finds every turn that a head names, and every payload that a turn names, with the bytes of its hash;
 * - reports no damage, hands out ids that nobody has, and applies a key once.
 */
const STATES = 100_000;
const TIMEOUT_MS = 480_000;

/** A little more than half each: some few disks are met by both. */
const EACH = 50_400;

it(`keeps every promise in ${STATES} crashes`, { timeout: TIMEOUT_MS }, async () => {
  const processes = [
    { firstSeed: 1, states: EACH, makesStore: true },
    { firstSeed: 1001, states: EACH, makesStore: false },
  ];
  const count = await exploreInProcesses(processes, TIMEOUT_MS - 10_000);
  process.stdout.write(`crashes: ${JSON.stringify(count)}\n`);
  expect(count.states).toBeGreaterThanOrEqual(STATES);
  expect(count.nested).toBeGreaterThan(STATES / 10);
});
