import canonicalize from 'canonicalize';
import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { codePoint } from '../../test/golden/arbitraries.ts';
import { canonicalJson } from './canonical-json.ts';
import { isQuipuError } from './errors.ts';

function codeOf(value: unknown): string {
  try {
    return canonicalJson(value);
  } catch (error) {
    return isQuipuError(error) ? error.code : String(error);
  }
}

describe('canonical JSON', () => {
  it('writes the example of RFC 8785', () => {
    const value = {
      numbers: [Number('333333333.33333329'), 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: '\u20ac$\u000F\u000aA\'\u0042\u0022\u005c\\"/',
      literals: [null, true, false],
    };
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it('sorts names by UTF-16 code units, whatever order they came in', () => {
    const names = ['\u20ac', '\r', '\ufb33', '1', '\ud83d\ude00', '\u0080', '\u00f6', '10', '2'];
    const value = Object.fromEntries(names.map((name) => [name, 0]));
    const sorted = ['\r', '1', '10', '2', '\u0080', '\u00f6', '\u20ac', '\ud83d\ude00', '\ufb33'];
    expect(canonicalJson(value)).toBe(
      `{${sorted.map((name) => `${JSON.stringify(name)}:0`).join(',')}}`,
    );
  });

  it('agrees with the canonicalize package and means the same', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: codePoint }), (value) => {
        const text = canonicalJson(value);
        expect(text).toBe(canonicalize(value));
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('asks toJSON, leaves undefined properties out and writes null for undefined in an array', () => {
    const date = new Date(0);
    // oxlint-disable-next-line no-sparse-arrays
    const value = { b: undefined, date, list: [undefined, , 1], a: -0 };
    expect(canonicalJson(value)).toBe(
      '{"a":0,"date":"1970-01-01T00:00:00.000Z","list":[null,null,1]}',
    );
  });

  it('takes one object in two places, which is no cycle', () => {
    const shared = { x: 1 };
    expect(canonicalJson([shared, shared])).toBe('[{"x":1},{"x":1}]');
  });

  it('answers INVALID to what JSON cannot hold, at any depth', () => {
    const cycle: unknown[] = [];
    cycle.push({ cycle });
    const wrong = [
      undefined,
      () => 0,
      Symbol('x'),
      1n,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      new Map([[1, 2]]),
      new Set([1]),
      new Uint8Array(2),
      new ArrayBuffer(2),
      cycle,
      { toJSON: () => undefined },
      '\ud800',
      'a\udc00b',
      '\\\ud800',
    ];
    for (const value of wrong) {
      expect(codeOf(value)).toBe('INVALID');
      if (value === undefined) continue;
      expect(codeOf([[value]])).toBe('INVALID');
      expect(codeOf({ a: { b: value } })).toBe('INVALID');
    }
    expect(codeOf({ '\udfff': 1 })).toBe('INVALID');
  });

  it('takes text that only looks like an escaped surrogate', () => {
    for (const text of ['\\ud800', '\\\\udfff', '\ud83d\ude00\\ud8']) {
      expect(canonicalJson(text)).toBe(JSON.stringify(text));
    }
  });

  it('takes a thousand levels and no more', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 1000; level += 1) deep = [deep];
    expect(canonicalJson(deep)).toBe(`${'['.repeat(1000)}1${']'.repeat(1000)}`);
    expect(codeOf([deep])).toBe('INVALID');
  });
});
