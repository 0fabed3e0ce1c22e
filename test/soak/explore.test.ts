import { expect, it } from 'vitest';
import { exploreLives } from '../crash/explore.ts';

/* The invariant of test/crash/explore-one.test.ts, over other lives and many more crashes. */
const STATES = 110_000;

it(`keeps every promise in ${STATES} crashes`, { timeout: 3_600_000 }, async () => {
  const count = await exploreLives(2001, STATES);
  process.stdout.write(`${JSON.stringify(count)}\n`);
  expect(count.states).toBeGreaterThanOrEqual(STATES);
  expect(count.nested).toBeGreaterThan(STATES / 10);
  expect(count.distinctDisks).toBeGreaterThan(STATES / 2);
});
