import { expect, it } from 'vitest';
import { QuipuError } from '../../base/errors.ts';
import type { QuipuShell } from './command.ts';
import { EXIT_CODE, reportError } from './report-error.ts';

it('keeps 2 for wrong input', () => {
  const usage = Object.entries(EXIT_CODE).filter(([, exit]) => exit === 2);
  expect(usage.map(([code]) => code)).toEqual(['INVALID']);
});

it('says how to give a token where one is needed', () => {
  let shown = '';
  const shell = { err: (text: string) => void (shown += text) } as unknown as QuipuShell;
  expect(reportError(new QuipuError('UNAUTHORIZED', 'a token is needed', {}), false, shell)).toBe(
    1,
  );
  expect(shown).toMatch(/^quipu: a token is needed\nhint: give a token with --token,/);
});
