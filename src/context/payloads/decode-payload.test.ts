import { describe, expect, it } from 'vitest';
import { Encoding } from '../../format/turn-record.ts';
import { decodePayload, toJsonValue } from './decode-payload.ts';
import { decodeMsgpack, encodeMsgpack } from './msgpack.ts';

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

describe('toJsonValue', () => {
  it('carries what JSON cannot', () => {
    expect(toJsonValue({ n: [2n ** 60n], b: Buffer.from('hi') })).toEqual({
      n: ['1152921504606846976'],
      b: { base64: 'aGk=' },
    });
  });
});
