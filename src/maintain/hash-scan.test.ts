import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hash } from '../../test/golden/arbitraries.ts';
import type { Hash } from '../base/brand.ts';
import { HashScan, mayNameHashes } from './named-blobs.ts';

const toBytes = (text: Hash): Buffer => Buffer.from(text, 'hex');
const bin = (header: string) => (text: Hash) =>
  Buffer.concat([Buffer.from(header, 'hex'), toBytes(text)]);

/** The forms that a hash may have in a tree. */
const FORMS: Readonly<Record<string, (text: Hash) => Buffer>> = {
  'a binary with an 8-bit length': bin('c420'),
  'a binary with a 16-bit length': bin('c50020'),
  'a binary with a 32-bit length': bin('c600000020'),
  'text in MessagePack': (text) => Buffer.concat([Buffer.from('d940', 'hex'), Buffer.from(text)]),
  'text in JSON': (text) => Buffer.from(JSON.stringify({ hash: text })),
  'capital digits': (text) => Buffer.from(`"${text.toUpperCase()}"`),
};

function scan(bytes: Uint8Array, pieceBytes: number): Set<Hash> {
  const scanner = new HashScan();
  const found = new Set<Hash>();
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    for (const text of scanner.take(bytes.subarray(at, at + pieceBytes))) found.add(text);
  }
  return found;
}

describe('HashScan', () => {
  it.each(Object.keys(FORMS))('finds %s, wherever it stands and however it is cut', (form) => {
    const around = fc.uint8Array({ maxLength: 90 });
    const toForm = FORMS[form] ?? toBytes;
    fc.assert(
      fc.property(hash, around, around, fc.integer({ min: 1, max: 200 }), (...drawn) => {
        const [text, before, after, pieceBytes] = drawn;
        // A digit right before the text would be taken for its first one.
        const bytes = Buffer.concat([before, Buffer.from('\n'), toForm(text), after]);
        expect(scan(bytes, pieceBytes).has(text)).toBe(true);
      }),
    );
  });

  it('finds all of many', () => {
    fc.assert(
      fc.property(fc.array(hash, { maxLength: 20 }), (all) => {
        const entries = all.flatMap((text, at) => [Buffer.from([0x81, at]), bin('c420')(text)]);
        const found = scan(Buffer.concat(entries), 50);
        expect(all.filter((text) => !found.has(text))).toEqual([]);
      }),
    );
  });

  it('finds nothing in what is cut short, or is of another length', () => {
    const text = 'ab'.repeat(32) as Hash;
    const bytes = [bin('c41f'), bin('c421'), bin('c50120'), bin('c600010020')].map((of) =>
      of(text),
    );
    for (const one of [...bytes, bin('c420')(text).subarray(0, 33), Buffer.from(text.slice(1))]) {
      expect([...scan(one, 7)]).toEqual([]);
    }
  });

  it('takes a deeply nested blob as it comes', () => {
    const nested = Buffer.concat([
      Buffer.alloc(1_000_000, 0x91),
      bin('c420')('0f'.repeat(32) as Hash),
    ]);
    expect([...scan(nested, 65_536)]).toEqual(['0f'.repeat(32)]);
  });
});

it('tells what may be a tree by its first byte', () => {
  expect([0x80, 0x93, 0xc4, 0xdc, 0xde, 0x7b, 0x5b, 0x20].every(mayNameHashes)).toBe(true);
  expect([0x23, 0x41, 0x61, 0x00, 0x7f].some(mayNameHashes)).toBe(false);
});
