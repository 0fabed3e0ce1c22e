import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codePoint } from '../../test/golden/arbitraries.ts';
import { QuipuError, invalid } from '../base/errors.ts';
import { TOO_MANY, WIRE_CODE, safeDetail, toErrorMessage, toQuipuError } from './error-message.ts';

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

const MISLEADING = [
  'connection reset',
  'connection refused',
  'broken pipe',
  'use of closed network connection',
  'network is unreachable',
  'no route to host',
  'connection timed out',
  'i/o timeout',
];

function misleads(text: string): boolean {
  const lower = text.toLowerCase();
  return MISLEADING.some((phrase) => lower.includes(phrase));
}

it('has a number for every code that fits its meaning', () => {
  const numbers = new Set(Object.values(WIRE_CODE));
  expect([...numbers].toSorted((a, b) => a - b)).toEqual([
    401, 403, 404, 409, 413, 422, 500, 503, 504, 507,
  ]);
});

describe('safeDetail', () => {
  it('leaves ordinary text alone', () => {
    expect(safeDetail('there is no context 42')).toBe('there is no context 42');
    expect(safeDetail('')).toBe('');
    expect(safeDetail('größer € 😀')).toBe('größer € 😀');
  });

  it('says otherwise what would mislead a client, in any case', () => {
    for (const phrase of MISLEADING) {
      for (const text of [phrase, phrase.toUpperCase(), `a ${phrase}, b ${phrase}`]) {
        expect(misleads(safeDetail(text))).toBe(false);
      }
    }
    expect(safeDetail('EPIPE: Broken Pipe, write')).toBe('EPIPE: reader gone, write');
    // Go makes some letters lower case that JavaScript does not.
    expect(safeDetail('bro\u212aen p\u0130pe')).toBe('reader gone');
  });

  it('makes no new one out of the pieces', () => {
    const words = MISLEADING.flatMap((phrase) => [phrase, ...phrase.split(' ')]);
    const word = fc.constantFrom(...words);
    fc.assert(
      fc.property(fc.array(word, { maxLength: 12 }), (all) => {
        expect(misleads(safeDetail(all.join(' ')))).toBe(false);
      }),
      { numRuns: 3000 },
    );
  });

  it('ends within 1,024 bytes, at the end of a character', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint, minLength: 200, maxLength: 1100 }), (text) => {
        const detail = safeDetail(text);
        const size = Buffer.byteLength(detail);
        expect(size).toBeLessThanOrEqual(1024);
        expect(text.startsWith(detail)).toBe(true);
        expect(detail === text || size > 1020).toBe(true);
      }),
    );
    expect(safeDetail(`${'x'.repeat(1023)}😀`)).toBe('x'.repeat(1023));
    expect(Buffer.byteLength(safeDetail('i/o timeout '.repeat(90)))).toBeLessThanOrEqual(1024);
  });
});
