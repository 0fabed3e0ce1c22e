import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Encoding } from '../../format/turn-record.ts';
import { decodeCbor, encodeCbor, decodeMsgpack, encodeMsgpack } from './binary-values.ts';
import {
  type Codec,
  decodePayload,
  encodePayload,
  encodingOf,
  findCodec,
  registerCodec,
} from './codecs.ts';
import { toJsonValue } from '../turn.ts';

describe('decodePayload', () => {
  it('gives bytes of an unknown encoding as they are', () => {
    const bytes = Buffer.from('abc');
    expect(decodePayload(bytes, 77)).toBe(bytes);
  });

  it('shows text that stops in the middle of a character', () => {
    expect(decodePayload(Buffer.from('grü').subarray(0, 3), Encoding.text)).toBe('gr\uFFFD');
    expect(decodePayload(Buffer.from('\uFEFFa'), Encoding.text)).toBe('\uFEFFa');
  });

  it('throws when the bytes are something else', () => {
    expect(() => decodePayload(Buffer.from('{'), Encoding.json)).toThrow(/JSON/);
    expect(() => decodePayload(Buffer.from([0xc1]), Encoding.msgpack)).toThrow(/0xc1/);
  });
});

describe('MessagePack', () => {
  it('never rounds an integer', () => {
    const value = { time: 1_731_700_000_000, large: 2n ** 63n, least: -(2n ** 63n) };
    expect(decodeMsgpack(encodeMsgpack(value))).toEqual(value);
    const uint64 = Buffer.from('cf0000019000000000', 'hex');
    expect(decodeMsgpack(uint64)).toBe(0x190_0000_0000);
  });
});

describe('CBOR', () => {
  const hex = (value: unknown): string => Buffer.from(encodeCbor(value)).toString('hex');

  it('is deterministic as RFC 8949 says: shortest numbers, keys by their bytes', () => {
    expect(hex({ b: 1, aa: [1.5, 100_000], a: -1 })).toBe('a361612061620162616182f93e001a000186a0');
    expect(hex({ a: -1, aa: [1.5, 100_000], b: 1 })).toBe(hex({ b: 1, aa: [1.5, 100_000], a: -1 }));
    expect(hex([Number.NaN, 5n, 5])).toBe('83f97e000505');
  });

  it('never rounds an integer', () => {
    const value = { time: 1_731_700_000_000, large: 2n ** 64n - 1n, least: -(2n ** 63n) };
    expect(decodeCbor(encodeCbor(value))).toEqual(value);
  });

  it('comes back as the value it was', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
        fc.pre(!JSON.stringify(value).includes('"__proto__":'));
        expect(JSON.stringify(decodeCbor(encodeCbor(value)))).toBe(
          JSON.stringify(decodeCbor(encodeCbor(decodeCbor(encodeCbor(value))))),
        );
        expect(toPlain(decodeCbor(encodeCbor(value)))).toEqual(toPlain(value));
      }),
    );
  });

  it.each([
    ['cut off', '8201'],
    ['a count that the bytes do not hold', '9b00000000ffffffff'],
    ['a length that the bytes do not hold', '5affffffff'],
    ['too deep', '81'.repeat(1001) + '00'],
    ['too many values', '9a000f4241' + '00'.repeat(1_000_001)],
    ['two values', '0101'],
    ['a tag', 'c11a514b67b0'],
    ['a key twice', 'a2616101616102'],
    ['a break without a beginning', 'ff'],
    ['a text in pieces', '7f6161ff'],
    ['a reserved byte', '1c'],
    ['an endless array that is cut off', '9f9f9f'],
  ])('refuses %s', (_, text) => {
    expect(() => decodeCbor(Buffer.from(text, 'hex'))).toThrow(Error);
  });

  it('reads arrays and maps that end with a break', () => {
    expect(decodeCbor(Buffer.from('9f01bf616102ffff', 'hex'))).toEqual([1, { a: 2 }]);
  });

  function toPlain(value: unknown): unknown {
    return JSON.parse(JSON.stringify(value));
  }
});

describe('a codec', () => {
  /** Lines of `key: value`, as a stand-in for a format with a schema. */
  const LINES: Codec = {
    name: 'protobuf',
    number: 5,
    encode: (value) =>
      Buffer.from(
        Object.entries(value as object)
          .map(([key, item]) => `${key}: ${String(item)}`)
          .toSorted()
          .join('\n'),
      ),
    decode: (bytes) =>
      Object.fromEntries(
        Buffer.from(bytes)
          .toString()
          .split('\n')
          .map((line) => line.split(': ')),
      ) as unknown,
    canonicalise: (bytes) =>
      Buffer.from(Buffer.from(bytes).toString().trim().split('\n').toSorted().join('\n')),
  };
  const RULES = { maxPayloadBytes: 1000 };
  const register = (codec: Codec): void => onTestFinished(registerCodec(codec));

  it('gives equal values one blob, whoever made the bytes', () => {
    register(LINES);
    const { hash, encoding, bytes } = encodePayload({ b: 1, a: 2 }, 'protobuf', RULES);
    expect(encoding).toBe(5);
    expect(encodePayload({ a: 2, b: 1 }, 5, RULES).hash).toBe(hash);
    expect(encodePayload(Buffer.from('b: 1\na: 2\n'), 'protobuf', RULES).hash).toBe(hash);
    expect(decodePayload(bytes, 5)).toEqual({ a: '2', b: '1' });
  });

  it('may have a number of its own, and leaves bytes when it is taken back', () => {
    const forget = registerCodec({ ...LINES, name: 'lines', number: 2000 });
    expect(encodingOf(2000)).toBe('lines');
    const { bytes } = encodePayload({ a: 1 }, 'lines', RULES);
    forget();
    expect(encodingOf(2000)).toBe(2000);
    expect(decodePayload(bytes, 2000)).toBe(bytes);
    expect(encodePayload(bytes, 2000, RULES).encoding).toBe(2000);
    expect(() => encodePayload({ a: 1 }, 2000, RULES)).toThrow(/expected a Uint8Array/);
    expect(() => findCodec('lines')).toThrow(/encoding must be one of/);
  });

  it('takes no place of another', () => {
    register(LINES);
    for (const codec of [
      LINES,
      { ...LINES, name: 'json', number: 2 },
      { ...LINES, name: 'gob', number: 5 },
      { ...LINES, name: 'own', number: 9 },
      { ...LINES, name: 'own', number: 2 ** 32 },
      { ...LINES, name: 'Own', number: 3000 },
      { ...LINES, name: 'own', number: 3000, decode: undefined as never },
    ]) {
      expect(() => registerCodec(codec), codec.name).toThrow(
        expect.objectContaining({ code: 'INVALID' }),
      );
    }
  });

  it('that gives no bytes is refused with its value', () => {
    register({ ...LINES, name: 'gob', number: 8, encode: () => 'text' as never });
    expect(() => encodePayload({ a: 1 }, 'gob', RULES)).toThrow(
      /the codec did not return a Uint8Array/,
    );
  });
});

describe('toJsonValue', () => {
  it('carries what JSON cannot', () => {
    expect(toJsonValue({ n: [2n ** 60n], b: Buffer.from('hi') })).toEqual({
      n: ['1152921504606846976'],
      b: { base64: 'aGk=' },
    });
  });
});
