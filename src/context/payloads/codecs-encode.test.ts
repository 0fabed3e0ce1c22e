import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isQuipuError } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import { Encoding, type EncodingName } from '../../format/turn-record.ts';
import { decodePayload, encodePayload } from './codecs.ts';

const RULES = { maxPayloadBytes: 1000 };
const encode = (payload: unknown, encoding?: EncodingName) =>
  encodePayload(payload, encoding, RULES);
const textOf = (payload: unknown, encoding?: EncodingName): string =>
  Buffer.from(encode(payload, encoding).bytes).toString();

describe('encodePayload', () => {
  it('takes bytes as bytes and every other value as JSON', () => {
    expect(encode(Buffer.from([1, 2])).encoding).toBe(Encoding.bytes);
    expect(encode('hi').encoding).toBe(Encoding.json);
    expect(textOf('hi')).toBe('"hi"');
    expect(textOf(null)).toBe('null');
    expect(textOf('hi', 'text')).toBe('hi');
  });

  it('gives equal values equal bytes', () => {
    expect(textOf({ b: 1, a: [2] })).toBe('{"a":[2],"b":1}');
    for (const encoding of ['json', 'msgpack', 'cbor'] as const) {
      expect(encode({ b: 1, a: 2 }, encoding).hash).toBe(encode({ a: 2, b: 1 }, encoding).hash);
    }
  });

  it('names the bytes by their hash and keeps them from the caller', () => {
    const given = Buffer.from('abc');
    const { bytes, hash } = encode(given);
    given.fill(0);
    expect(Buffer.from(bytes).toString()).toBe('abc');
    expect(hash).toBe(hashBytes(Buffer.from('abc')));
  });

  it('stores encoded bytes as they are, once they are valid', () => {
    expect(textOf(Buffer.from(' {"b":1, "a":2}'), 'json')).toBe(' {"b":1, "a":2}');
    expect(textOf(Buffer.from('grün'), 'text')).toBe('grün');
  });

  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  const bad: [string, unknown, EncodingName | undefined][] = [
    ['nothing', undefined, undefined],
    ['a function', () => 1, undefined],
    ['a bigint in JSON', { n: 1n }, undefined],
    ['NaN in JSON', [Number.NaN], undefined],
    ['a cycle', cyclic, undefined],
    ['a cycle in MessagePack', cyclic, 'msgpack'],
    ['a function in MessagePack', [() => 1], 'msgpack'],
    ['an integer over 64 bits', [2n ** 64n], 'msgpack'],
    ['half a character in JSON', 'a\uD800', undefined],
    ['half a character in text', 'a\uD800', 'text'],
    ['half a character in MessagePack', ['a\uD800'], 'msgpack'],
    ['half a character in CBOR', ['a\uD800'], 'cbor'],
    ['an integer over 64 bits in CBOR', [2n ** 64n], 'cbor'],
    ['a date in CBOR', new Date(0), 'cbor'],
    ['a value in protobuf', { a: 1 }, 'protobuf'],
    ['a key that decoders refuse', JSON.parse('{"a":{"__proto__":1}}'), 'msgpack'],
    ['bytes that are not UTF-8', Buffer.from([0xff]), 'text'],
    ['bytes that are not JSON', Buffer.from('{'), 'json'],
    ['a number as text', 5, 'text'],
    ['a string as bytes', 'abc', 'bytes'],
  ];
  it.each(bad)('refuses %s and names the payload', (_, payload, encoding) => {
    expect(() => encode(payload, encoding)).toThrow(
      expect.objectContaining({ code: 'INVALID', data: { what: 'payload' } }),
    );
  });

  it('refuses an encoding it does not know', () => {
    for (const name of ['xml', 'toString']) {
      expect(() => encode('x', name as EncodingName)).toThrow(
        /encoding must be one of bytes, msgpack/,
      );
    }
  });

  it('says the limit and the size of what is too large', () => {
    const error = (() => {
      try {
        return encode(new Uint8Array(1001));
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(isQuipuError(error, 'TOO_LARGE') && error.data).toEqual({
      what: 'payload',
      limit: 1000,
      size: 1001,
    });
    expect(encode(new Uint8Array(1000)).bytes.length).toBe(1000);
  });

  it('comes back as the value it was', () => {
    const values = fc.jsonValue({ maxDepth: 3 });
    fc.assert(
      fc.property(values, fc.constantFrom('json', 'msgpack'), (value, encoding) => {
        fc.pre(encoding === 'json' || !JSON.stringify(value).includes('"__proto__":'));
        const { bytes, encoding: number } = encodePayload(value, encoding, {
          ...RULES,
          maxPayloadBytes: 1e6,
        });
        // JSON has one zero.
        const plain: unknown = JSON.parse(JSON.stringify(value));
        const decoded = decodePayload(bytes, number);
        expect(JSON.parse(JSON.stringify(decoded))).toEqual(plain);
      }),
      { numRuns: 200 },
    );
  });
});
