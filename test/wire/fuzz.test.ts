import { afterEach, beforeEach, expect, it } from 'vitest';
import { fuzz } from './fuzz.ts';

const STREAMS = 1_000_000;
const MIB = 1024 * 1024;

// Hundreds of thousands of errors are made here, and nobody looks where they come from.
let stackTraceLimit: number;
beforeEach(() => {
  ({ stackTraceLimit } = Error);
  Error.stackTraceLimit = 0;
});
afterEach(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

it('survives a million hostile streams in bounded memory', { timeout: 240_000 }, () => {
  const report = fuzz(20_260, STREAMS);
  expect(report.frames).toBeGreaterThan(STREAMS / 2);
  expect(report.oversized).toBeGreaterThan(STREAMS / 100);
  expect(report.taken).toBeGreaterThan(STREAMS / 10);
  expect(report.refused).toBeGreaterThan(STREAMS / 10);
  expect(report.grownBytes).toBeLessThan(128 * MIB);
});
