import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codeOf } from '../../test/wire/code-of.ts';
import { ByteParts, checkJsonBounds, fromCall, toCall } from './call-values.ts';
import { encodeCallReply } from './call.ts';
import { CALL_BLOBS_MAX, CALL_DEPTH_MAX, CALL_JSON_BYTES_MAX, CALL_VALUES_MAX } from './limits.ts';

const name = fc.oneof(fc.string(), fc.constantFrom('$n', '$b', '$$', '$', '__proto__', 'toString'));
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string(),
    fc.double(),
    fc.boolean(),
    fc.constantFrom(null, undefined, -0),
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
    fc.uint8Array({ maxLength: 8 }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .array(fc.tuple(name, tie('value')), { maxLength: 4 })
      .map((entries) => Object.fromEntries(entries) as unknown),
  ),
}));

describe('values of calls', () => {
  it('come back as they were', () => {
    fc.assert(
      fc.property(value, (given) => {
        expect(fromCall(toCall(given))).toStrictEqual(given);
      }),
    );
  });

  it('keep what JSON alone would lose', () => {
    const given = [{ a: undefined }, -0, Number.NaN, [undefined], { $n: '1' }, { $$b: 0 }, '$n'];
    expect(fromCall(toCall(given))).toStrictEqual(given);
    expect(toCall({ $b: 0 })).toEqual({ json: '{"$$b":0}', blobs: [] });
    expect(toCall('\ud800').json).toBe('"\\ud800"');
  });

  it('carry bytes beside the JSON without a copy', () => {
    const bytes = Buffer.from('bytes');
    const { json, blobs } = toCall({ rows: [bytes, bytes] });
    expect(json).toBe('{"rows":[{"$b":0},{"$b":1}]}');
    expect(blobs[1]).toBe(bytes);
  });

  it('carry bytes that lie in several places as one array', () => {
    const parts = new ByteParts();
    parts.add(Uint8Array.of(1, 2));
    parts.add(Uint8Array.of(3));
    const body = toCall([parts]);
    expect(body).toEqual({ json: '[{"$b":0}]', blobs: [parts] });
    expect(fromCall(body)).toEqual([Uint8Array.of(1, 2, 3)]);
    const sent = encodeCallReply(body);
    expect(sent).toEqual(encodeCallReply(toCall([Uint8Array.of(1, 2, 3)])));
  });

  it('are plain data and nothing else', () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    const wrong = [() => 0, Symbol('x'), new Date(0), new Map(), new Float64Array(1), /x/, cycle];
    for (const one of [...wrong, new (class Other {})(), 10n ** 40n]) {
      expect(codeOf(() => toCall({ one }))).toBe('INVALID');
    }
  });

  it('do not change what is given', () => {
    const given = Object.freeze({ list: Object.freeze([1n, Object.freeze({ $x: undefined })]) });
    expect(fromCall(toCall(given))).toStrictEqual(given);
  });

  it('set no prototype', () => {
    const body = { json: '{"__proto__":{"admin":1},"$$x":{"__proto__":null}}', blobs: [] };
    const read = fromCall(body) as Record<string, unknown>;
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
    expect(read['admin']).toBeUndefined();
    expect(Object.keys(read)).toEqual(['__proto__', '$x']);
  });
});

describe('what a peer sends as a call', () => {
  it.each([
    '',
    '{',
    '{"$n":1}',
    '{"$n":"1e3"}',
    `{"$n":"${'9'.repeat(41)}"}`,
    '{"$b":1}',
    '{"$b":"0"}',
    '{"$b":-1}',
    '{"$b":0.5}',
    '{"$u":1}',
    '{"$f":"1"}',
    '{"$x":1}',
    '{"$n":"1","a":1}',
    '{"$":1}',
  ])('is INVALID when it makes no sense: %s', (json) => {
    expect(codeOf(() => fromCall({ json, blobs: [Buffer.alloc(1)] }))).toBe('INVALID');
  });

  it('has 64 levels and no more, in both directions', () => {
    let deep: unknown = 1;
    for (let level = 0; level < CALL_DEPTH_MAX; level += 1) deep = [deep];
    expect(fromCall(toCall(deep))).toEqual(deep);
    expect(codeOf(() => toCall([deep]))).toBe('INVALID');
    const json = `${'['.repeat(65)}${']'.repeat(65)}`;
    expect(codeOf(() => fromCall({ json, blobs: [] }))).toBe('INVALID');
  });

  it('has a bounded number of byte arrays', () => {
    const one = Buffer.alloc(0);
    expect(toCall(Array.from({ length: CALL_BLOBS_MAX }, () => one)).blobs.length).toBe(
      CALL_BLOBS_MAX,
    );
    expect(codeOf(() => toCall(Array.from({ length: CALL_BLOBS_MAX + 1 }, () => one)))).toBe(
      'INVALID',
    );
  });
});

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
