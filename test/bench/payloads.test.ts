import { describe, expect, it } from 'vitest';
import { Payloads } from '../../bench/payloads.ts';

describe('Payloads', () => {
  it.each([100, 999, 1000, 2000, 10_000])('are JSON of %i bytes, each different', (bytes) => {
    const made = [...new Payloads(bytes).take(200)];
    expect(new Set(made.map((payload) => payload.length))).toEqual(new Set([bytes]));
    for (const payload of made) JSON.parse(payload.toString());
    expect(new Set(made.map(String)).size).toBe(made.length);
  });

  it('are the same for everyone who asks', () => {
    expect([...new Payloads(2000).take(70)]).toEqual([...new Payloads(2000).take(70)]);
  });
});
