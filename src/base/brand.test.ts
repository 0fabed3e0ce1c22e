import { describe, expect, it } from 'vitest';
import { NO_TURN, toContextId, toHash, toTurnId } from './brand.ts';

const MAX = BigInt(Number.MAX_SAFE_INTEGER);

describe('the doors to branded values', () => {
  it('let ids through as bigint', () => {
    expect(toTurnId(1)).toBe(1n);
    expect(toTurnId(MAX)).toBe(MAX);
    expect(toContextId(7n)).toBe(7n);
    expect(toTurnId(0, true)).toBe(NO_TURN);
  });

  it('answer INVALID to everything that is no id', () => {
    for (const id of [0, -1, 1.5, Number.NaN, 2 ** 53, 0n, -1n, MAX + 1n, 'x', '', undefined]) {
      expect(() => toTurnId(id as number)).toThrow(/turn id of 1 or more/);
      expect(() => toContextId(id as number)).toThrow(/context id of 1 or more/);
    }
    expect(() => toTurnId(-1, true)).toThrow(/turn id of 0 or more/);
  });

  it('let a hash through only as 64 lower-case digits', () => {
    const hash = 'ab'.repeat(32);
    expect(toHash(hash)).toBe(hash);
    for (const text of ['', hash.toUpperCase(), hash.slice(1), `${hash}0`, `${hash}\n`]) {
      expect(() => toHash(text)).toThrow(/64 lower-case hex digits/);
    }
  });
});
