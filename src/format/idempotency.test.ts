import { describe, expect, it } from 'vitest';
import { toContextId } from '../base/brand.ts';
import { idempotencyHash } from './idempotency.ts';

describe('idempotency hash', () => {
  it('writes the version 1 bytes', () => {
    expect(idempotencyHash(toContextId(2), 'retry-1')).toBe('03f795e96bf0528f21d389818eb3c5eb');
  });

  it('differs by context and by key', () => {
    const hashes = [
      idempotencyHash(toContextId(2), 'a'),
      idempotencyHash(toContextId(3), 'a'),
      idempotencyHash(toContextId(2), 'b'),
    ];
    expect(new Set(hashes).size).toBe(3);
  });
});
