import { describe, expect, it } from 'vitest';
import { toContextId } from '../base/brand.ts';
import { idempotencyHash } from './idempotency.ts';

describe('idempotency hash', () => {
  it('writes the version 1 bytes', () => {
    const hash = idempotencyHash(toContextId(2), 'retry-1');
    expect(Buffer.from(hash).toString('hex')).toBe('03f795e96bf0528f21d389818eb3c5eb');
  });

  it('differs by context and by key', () => {
    const hashes = [
      idempotencyHash(toContextId(2), 'a'),
      idempotencyHash(toContextId(3), 'a'),
      idempotencyHash(toContextId(2), 'b'),
    ].map((hash) => Buffer.from(hash).toString('hex'));
    expect(new Set(hashes).size).toBe(3);
  });
});
