import { expect, it } from 'vitest';
import { RequestVigil } from './request-vigil.ts';

it('knows who is alone, and waits awake for the next request of that one', () => {
  let nowMs = 0;
  const vigil = new RequestVigil({ processors: 2, now: () => nowMs });
  vigil.asked(1n);
  expect(vigil.isAlone(1n)).toBe(false);
  expect(vigil.answered(1n, 0)).toBe(false);
  nowMs += 11;
  expect(vigil.isAlone(1n)).toBe(true);
  expect(vigil.isAlone(2n)).toBe(false);

  vigil.asked(1n);
  vigil.answered(1n, 0);
  vigil.asked(1n);
  expect(vigil.answered(1n, 1)).toBe(false);
  expect(vigil.answered(1n, 0)).toBe(true);
  vigil.asked(1n);

  vigil.asked(2n);
  expect(vigil.isAlone(1n)).toBe(false);
  expect(vigil.isAlone(2n)).toBe(false);
  expect(vigil.answered(1n, 0)).toBe(false);
  expect(vigil.answered(2n, 0)).toBe(false);
});
