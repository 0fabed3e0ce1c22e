import { expect, it } from 'vitest';
import { EXIT_CODE } from './report-error.ts';

it('keeps 2 for wrong input', () => {
  const usage = Object.entries(EXIT_CODE).filter(([, exit]) => exit === 2);
  expect(usage.map(([code]) => code)).toEqual(['INVALID']);
});
