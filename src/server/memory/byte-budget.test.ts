import { expect, it } from 'vitest';
import { ReadsAtOnce } from './byte-budget.ts';

it('begins with one, allows more while replies are small, and forgets a large one by and by', () => {
  const reads = new ReadsAtOnce();
  expect(reads.count).toBe(1);
  for (let count = 0; count < 10; count += 1) reads.note(100);
  expect(reads.count).toBe(16);
  reads.note(64 * 1024 * 1024);
  expect(reads.count).toBe(1);
  for (let count = 0; count < 10; count += 1) reads.note(100);
  expect(reads.count).toBe(16);
});
