import * as zlib from 'node:zlib';
import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { builtinZstd, compress, decompress, napiZstd } from './compress.ts';

const TEXT = Buffer.from('{"role":"user","text":"hello"}\n'.repeat(400));
/** One frame of `TEXT.subarray(0, 300)` from the streaming API, which does not say its length. */
const STREAMED_HEX =
  '28b52ffd00583d0100f87b22726f6c65223a2275736572222c2274657874223a2268656c6c6f227d0a01002b08553901';

const inputs = fc.oneof(
  fc.uint8Array({ maxLength: 2000 }),
  fc
    .tuple(fc.uint8Array({ minLength: 1, maxLength: 20 }), fc.nat({ max: 20_000 }))
    .map(([piece, times]) => Buffer.alloc(piece.length * times, piece)),
);

describe('compress and decompress', () => {
  it('give back what they got', () => {
    fc.assert(
      fc.property(inputs, (bytes) => {
        expect(Buffer.compare(decompress(compress(bytes), bytes.length), bytes)).toBe(0);
      }),
    );
  });

  it('shrink what repeats', () => {
    expect(compress(TEXT).length).toBeLessThan(TEXT.length / 50);
  });

  it('own their results', () => {
    const first = compress(TEXT);
    const copy = Buffer.from(first);
    compress(Buffer.from('something else'));
    expect(Buffer.compare(first, copy)).toBe(0);
  });

  it('take large input', () => {
    const bytes = Buffer.alloc(3_000_000, TEXT);
    expect(Buffer.compare(decompress(compress(bytes), bytes.length), bytes)).toBe(0);
  });

  it('throw when the length is another one, and never yield more than asked for', () => {
    const frame = compress(TEXT);
    for (const length of [0, 1, TEXT.length - 1, TEXT.length + 1]) {
      expect(() => decompress(frame, length)).toThrow(Error);
    }
    expect(() => decompress(compress(new Uint8Array()), 1)).toThrow(Error);
  });

  it('throw on every truncation and on nonsense, and work on', () => {
    const frame = compress(TEXT);
    for (let length = 0; length < frame.length; length += 1) {
      expect(() => decompress(frame.subarray(0, length), TEXT.length)).toThrow(Error);
    }
    expect(() => decompress(Buffer.from('nonsense'), 8)).toThrow(Error);
    expect(Buffer.compare(decompress(frame, TEXT.length), TEXT)).toBe(0);
  });

  it('decompress into memory that is given, and no further', () => {
    const whole = Buffer.alloc(TEXT.length + 8, 7);
    const into = whole.subarray(0, TEXT.length);
    expect(Buffer.compare(decompress(compress(TEXT), TEXT.length, into), TEXT)).toBe(0);
    expect(whole.subarray(TEXT.length)).toEqual(Buffer.alloc(8, 7));
    const more = compress(Buffer.concat([TEXT, TEXT]));
    expect(() => decompress(more, TEXT.length, into)).toThrow(Error);
    expect(whole.subarray(TEXT.length)).toEqual(Buffer.alloc(8, 7));
  });

  it('read a frame that does not say its length', () => {
    const raw = TEXT.subarray(0, 300);
    expect(Buffer.compare(decompress(Buffer.from(STREAMED_HEX, 'hex'), 300), raw)).toBe(0);
  });
});

const builtin = builtinZstd(zlib);

describe.skipIf(builtin === undefined)('zstd of this Node and of zstd-napi', () => {
  it('read each other', () => {
    const other = napiZstd();
    for (const bytes of [TEXT, Buffer.alloc(0), Buffer.from('x')]) {
      const ours = builtin?.compress(bytes) ?? Buffer.alloc(0);
      expect(Buffer.compare(other.decompress(ours, bytes.length), bytes)).toBe(0);
      expect(builtin?.decompress(other.compress(bytes), bytes.length)).toEqual(bytes);
    }
  });
});

describe('zstd of a newer Node', () => {
  it('is not there on an older one', () => {
    expect(builtinZstd({})).toBeUndefined();
  });

  it('is asked for level 1, with the length in the frame, and bounded', () => {
    const calls: unknown[] = [];
    const zstd = builtinZstd({
      zstdCompressSync: (...call: unknown[]) => calls.push(call),
      zstdDecompressSync: (...call: unknown[]) => calls.push(call),
    });
    zstd?.compress(TEXT);
    zstd?.decompress(TEXT, 7);
    zstd?.decompress(TEXT, 0);
    expect(calls).toEqual([
      [TEXT, { params: { 100: 1 }, pledgedSrcSize: TEXT.length }],
      [TEXT, { maxOutputLength: 7 }],
      [TEXT, { maxOutputLength: 1 }],
    ]);
  });
});
