import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toHash } from '../base/brand.ts';
import { ByteReader, ByteWriter } from './byte-codec.ts';

describe('ByteWriter', () => {
  it('writes across the end of a block as within it', () => {
    for (let hint = 0; hint < 40; hint += 1) {
      const parts = new ByteWriter(hint)
        .u8(1)
        .u16(0x0302)
        .u32(0x07060504)
        .u64(0x0f0e0d0c0b0a0908n)
        .count64(0x10)
        .sized16('é')
        .sized32('x')
        .hash(toHash('ab'.repeat(32)))
        .hash(undefined)
        .parts();
      expect(Buffer.concat(parts).toString('hex')).toBe(
        `0102030405060708090a0b0c0d0e0f10000000000000000200c3a90100000078${'ab'.repeat(32)}${'00'.repeat(32)}`,
      );
    }
  });

  it('writes a text as its bytes in UTF-8, wherever a block ends', () => {
    const text = fc.oneof(fc.string({ maxLength: 80 }), fc.string({ unit: 'grapheme' }));
    fc.assert(
      fc.property(text, fc.nat(100), (content, hint) => {
        const parts = new ByteWriter(hint).u8(1).sized32(content).u8(2).parts();
        const bytes = Buffer.from(content, 'utf8');
        const length = Buffer.alloc(4);
        length.writeUInt32LE(bytes.length);
        const whole = Buffer.concat([Buffer.of(1), length, bytes, Buffer.of(2)]);
        expect(Buffer.concat(parts)).toEqual(whole);
      }),
    );
  });

  it('does not copy a large array', () => {
    const large = Buffer.alloc(5000, 3);
    const parts = new ByteWriter().u8(1).bytes(large).u8(2).parts();
    expect(parts).toEqual([Buffer.from([1]), large, Buffer.from([2])]);
    expect(parts[1]).toBe(large);
  });
});

describe('ByteReader', () => {
  it('believes no length before the bytes are there', () => {
    const bytes = Buffer.from('ffffffff01020304', 'hex');
    const problems = [
      () => new ByteReader(bytes, 'X').length32('a', 2 ** 32),
      () => new ByteReader(bytes, 'X').size32('a', 10),
      () => new ByteReader(bytes, 'X').items32('a', 76),
      () => new ByteReader(bytes, 'X').bytes(9, 'a'),
      () => new ByteReader(bytes, 'X').text(0xffff_ffff, 'a'),
      () => new ByteReader(bytes, 'X').hash('a'),
    ];
    for (const problem of problems) {
      expect(problem).toThrow(expect.objectContaining({ code: 'INVALID', data: { what: 'X.a' } }));
    }
  });

  it('names the message and the field, and says what is missing', () => {
    const reader = new ByteReader(Buffer.alloc(3), 'GET_HEAD');
    expect(() => reader.u64('context_id')).toThrow(
      'GET_HEAD.context_id needs 8 bytes, and 3 are left',
    );
    expect(() => new ByteReader(Buffer.from([0xc3]), 'X').text(1, 'a')).toThrow(
      'X.a is not valid UTF-8',
    );
  });

  it('counts bytes up to 2^53 - 1', () => {
    const most = Buffer.from('ffffffffffff1f00', 'hex');
    expect(new ByteReader(most, 'X').count64('a')).toBe(Number.MAX_SAFE_INTEGER);
    const more = Buffer.from('0000000000002000', 'hex');
    expect(() => new ByteReader(more, 'X').count64('a')).toThrow('2^53 - 1');
  });
});
