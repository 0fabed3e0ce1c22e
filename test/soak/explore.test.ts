import { expect, it } from 'vitest';
import { exploreInProcesses } from '../crash/explore-in-processes.ts';

/* The invariant of test/crash/explore.test.ts, over other lives and ten times as many crashes. */
const STATES = 1_000_000;
const TIMEOUT_MS = 2 * 60 * 60 * 1000;

it(`keeps every promise in ${STATES} crashes`, { timeout: TIMEOUT_MS }, async () => {
  const processes = [100_001, 200_001].map((firstSeed) => ({
    firstSeed,
    states: (STATES / 2) * 1.05,
    makesStore: true,
  }));
  const count = await exploreInProcesses(processes, TIMEOUT_MS - 10_000);
  process.stdout.write(`crashes: ${JSON.stringify(count)}\n`);
  expect(count.states).toBeGreaterThanOrEqual(STATES);
  expect(count.nested).toBeGreaterThan(STATES / 10);
});
