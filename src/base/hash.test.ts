import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import {
  bytesToHash,
  createHasher,
  createSha256,
  hashBytes,
  hashRaw,
  hashText,
  hashToBytes,
  nativeBlake3,
  PortableBlake3,
  sha256Hex,
} from './hash.ts';

/** BLAKE3 test vectors: inputs count 0, 1, … 250, 0, 1, … */
const VECTORS = [
  [0, 'af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262'],
  [1, '2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213'],
] as const;

const pieces = fc.array(fc.uint8Array({ maxLength: 300 }));

describe('BLAKE3', () => {
  it('hashes a text as its bytes in UTF-8', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(hashText(text)).toBe(hashBytes(Buffer.from(text, 'utf8')));
      }),
    );
    expect(hashText('a\0b')).toBe(hashBytes(Buffer.from('a\0b')));
  });

  it('gives the published hashes', () => {
    for (const [length, hex] of VECTORS) {
      const input = Uint8Array.from({ length }, (_, index) => index % 251);
      expect(hashBytes(input)).toBe(hex);
    }
    expect(hashBytes(Buffer.from('abc'))).toBe(
      '6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85',
    );
  });

  it('is the same in JavaScript', () => {
    const portable = new PortableBlake3();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3000 }), fc.string(), (bytes, text) => {
        portable.reset();
        portable.update(bytes);
        portable.update(text);
        expect(portable.digest()).toBe(hashBytes(Buffer.concat([bytes, Buffer.from(text)])));
      }),
    );
    // On this platform the native module is there, so this compares two implementations.
    expect(nativeBlake3()).toBeDefined();
  });

  it('is the same in pieces, and as bytes', () => {
    fc.assert(
      fc.property(pieces, (parts) => {
        const whole = Buffer.concat(parts);
        const hasher = createHasher();
        for (const part of parts) hasher.update(part);
        const hash = hashBytes(whole);
        expect(hasher.digest()).toBe(hash);
        expect(bytesToHash(hashRaw(whole))).toBe(hash);
        expect(bytesToHash(hashToBytes(hash))).toBe(hash);
      }),
    );
  });

  it('reads a hash out of the middle of a page', () => {
    const page = Uint8Array.from({ length: 64 }, (_, index) => index);
    const hash = bytesToHash(page.subarray(16, 48));
    expect(hash).toBe(Buffer.from(page).toString('hex', 16, 48));
  });
});

describe('SHA-256', () => {
  it('gives the published hash', () => {
    expect(sha256Hex(Buffer.from('abc'))).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
  });

  it('is the same in pieces', () => {
    fc.assert(
      fc.property(pieces, (parts) => {
        const hasher = createSha256();
        for (const part of parts) hasher.update(part);
        expect(hasher.digest()).toBe(sha256Hex(Buffer.concat(parts)));
      }),
    );
  });
});
