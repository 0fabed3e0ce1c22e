import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findExcess, parseBoundedJson, VALUE_BOUNDS } from './bounded-json.ts';

const { depth, values } = VALUE_BOUNDS;

describe('JSON within bounds', () => {
  it('is parsed as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseBoundedJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('has as many levels and values as are allowed, and no more', () => {
    expect(parseBoundedJson('['.repeat(depth) + ']'.repeat(depth))).toHaveLength(1);
    expect(() => parseBoundedJson('['.repeat(depth + 1))).toThrow(/more than 1000 levels/);
    expect(() => parseBoundedJson('{"a":'.repeat(500_000))).toThrow(/more than 1000 levels/);
    expect(parseBoundedJson(`[${'0,'.repeat(values - 2)}0]`)).toHaveLength(values - 1);
    expect(() => parseBoundedJson(`[${'0,'.repeat(values)}0]`)).toThrow(/more than 1000000 values/);
  });

  it('does not count what stands in strings, whatever is escaped there', () => {
    const hostile = '[{,"\\'.repeat(10);
    fc.assert(
      fc.property(fc.array(fc.constantFrom('"', '\\', '[', ',', 'x', hostile)), (parts) => {
        const text = JSON.stringify([parts.join(''), { [parts.join('')]: '\\' }]);
        expect(findExcess(text, { depth: 2, values: 4 })).toBeUndefined();
        expect(findExcess(text, { depth: 1, values: 4 })).toEqual({ of: 'depth', size: 2 });
        expect(findExcess(text, { depth: 2, values: 3 })).toEqual({ of: 'values', size: 4 });
      }),
    );
  });
});
