import { describe, expect, it } from 'vitest';
import { QuipuError, invalid } from '../base/errors.ts';
import { TOO_MANY, toErrorMessage, toQuipuError } from './error-message.ts';

const MISSING = new QuipuError('NOT_FOUND', 'there is no context 42', {
  what: 'context',
  id: '42',
});

describe('toErrorMessage', () => {
  it('tells a client of cxdb what is missing in one word', () => {
    expect(toErrorMessage(MISSING, false)).toEqual({
      code: 404,
      detail: 'context',
      quipu: undefined,
    });
    expect(toErrorMessage(invalid('limit', 'is wrong'), false).detail).toBe('limit is wrong');
  });

  it('tells who knows Quipu everything', () => {
    expect(toErrorMessage(MISSING, true)).toEqual({
      code: 404,
      detail: 'there is no context 42',
      quipu: { name: 'NOT_FOUND', data: '{"what":"context","id":"42"}' },
    });
  });

  it('takes another number where one code has two', () => {
    const slow = new QuipuError('UNAVAILABLE', 'read faster', { what: 'subscription' });
    expect(toErrorMessage(slow, true).code).toBe(503);
    expect(toErrorMessage(slow, true, TOO_MANY).code).toBe(429);
  });

  it('sends no text that reads as a lost connection', () => {
    const error = new QuipuError('IO', 'write: broken pipe', { path: 'x', errno: 'EPIPE' });
    expect(toErrorMessage(error, false).detail).toBe('write: reader gone');
    expect(toErrorMessage(error, true).detail).toBe('write: reader gone');
  });
});

describe('toQuipuError', () => {
  it('gives back the error', () => {
    const error = toQuipuError(toErrorMessage(MISSING, true));
    expect(error).toBeInstanceOf(QuipuError);
    expect(error.toJSON()).toEqual(MISSING.toJSON());
  });

  it('has an answer to errors without facts, or with a name of the future', () => {
    const message = { detail: 'x', quipu: undefined };
    expect(toQuipuError({ ...message, code: 401 }).code).toBe('UNAUTHORIZED');
    expect(toQuipuError({ ...message, code: 503 }).code).toBe('UNAVAILABLE');
    const odd = { code: 418, detail: 'x', quipu: { name: 'toString', data: 'no json' } };
    expect(toQuipuError(odd).toJSON()).toEqual({
      code: 'UNSUPPORTED',
      message: 'x',
      data: { what: 'error', found: '418' },
    });
    expect(toQuipuError({ ...odd, quipu: { name: 'CLOSED', data: '[]' } }).data).toEqual({});
  });
});
