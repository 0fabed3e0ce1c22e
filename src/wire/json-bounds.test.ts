import { describe, expect, it } from 'vitest';
import { codeOf } from '../../test/wire/code-of.ts';
import { checkJsonBounds } from './call-values.ts';
import { CALL_JSON_BYTES_MAX, CALL_VALUES_MAX } from './limits.ts';

const check = (json: string): string => codeOf(() => checkJsonBounds(json));

describe('the bounds of JSON', () => {
  it('count levels of arrays and objects alike', () => {
    expect(check('[{"a":'.repeat(32) + '1' + '}]'.repeat(32))).toBe('none');
    expect(check('[{"a":'.repeat(33))).toBe('INVALID');
    expect(check('[{"a":'.repeat(500_000))).toBe('INVALID');
    expect(check('[],'.repeat(1000))).toBe('none');
  });

  it('count nothing inside of strings', () => {
    const brackets = '['.repeat(100);
    expect(check(JSON.stringify([brackets, `\\${brackets}`, `"${brackets}"`]))).toBe('none');
    expect(check(JSON.stringify({ [`\\"${brackets}`]: '\\' }))).toBe('none');
    expect(check(`["\\\\",${brackets}`)).toBe('INVALID');
    expect(check(`"${brackets}`)).toBe('none');
    expect(check('"\\')).toBe('none');
  });

  it('count values', () => {
    expect(check(`[${'0,'.repeat(CALL_VALUES_MAX - 2)}0]`)).toBe('none');
    expect(check(`[${'0,'.repeat(CALL_VALUES_MAX - 1)}0]`)).toBe('TOO_LARGE');
    expect(check(`[${'[],'.repeat(CALL_VALUES_MAX / 2)}0]`)).toBe('TOO_LARGE');
  });

  it('count bytes, not characters', () => {
    expect(check(`"${'x'.repeat(CALL_JSON_BYTES_MAX - 2)}"`)).toBe('none');
    expect(check(`"${'x'.repeat(CALL_JSON_BYTES_MAX - 1)}"`)).toBe('TOO_LARGE');
    expect(check(`"${'é'.repeat(CALL_JSON_BYTES_MAX / 2)}"`)).toBe('TOO_LARGE');
  });
});
