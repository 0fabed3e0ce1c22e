import { describe, expect, it } from 'vitest';
import { Encoding, encodingName } from './turn-record.ts';

describe('encoding', () => {
  it('names each number', () => {
    for (const [name, number] of Object.entries(Encoding)) expect(encodingName(number)).toBe(name);
  });

  it('has no name for others', () => {
    for (const number of [4, -1, 0.5, 2 ** 32]) expect(encodingName(number)).toBeUndefined();
  });
});
