import { describe, expect, it } from 'vitest';
import { QuipuError, invalid, isQuipuError } from './errors.ts';

describe('QuipuError', () => {
  it('carries code, facts and cause, and shows the first two as JSON', () => {
    const cause = new Error('disk');
    const error = new QuipuError('DISK_FULL', 'no room', { path: 'a' }, { cause });
    expect(error.cause).toBe(cause);
    expect(error.name).toBe('QuipuError');
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      code: 'DISK_FULL',
      message: 'no room',
      data: { path: 'a' },
    });
  });

  it('is told apart from other errors, and by its code', () => {
    const error: unknown = invalid('limit', 'is negative');
    expect(isQuipuError(error)).toBe(true);
    expect(isQuipuError(error, 'INVALID')).toBe(true);
    expect(isQuipuError(error, 'CLOSED')).toBe(false);
    expect(isQuipuError(Object.assign(new Error('x'), { code: 'INVALID' }))).toBe(false);
  });

  it('says what was wrong with which argument', () => {
    const error = invalid('limit', 'is negative');
    expect([error.message, error.data]).toEqual(['limit is negative', { what: 'limit' }]);
  });
});
