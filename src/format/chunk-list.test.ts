import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { hash, u32 } from '../../test/golden/arbitraries.ts';
import { toHash } from '../base/brand.ts';
import { decodeChunkList, encodeChunkList } from './blob-record.ts';

const LIST_HEX =
  '02000000ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86e908c5624a67200f05000000' +
  'cb7a202c78d1fc0bb698a12b4b0c9513d272083676e9553b3840e8936671e85a06000000';

const LIST = [
  {
    hash: toHash('ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86e908c5624a67200f'),
    size: 5,
  },
  {
    hash: toHash('cb7a202c78d1fc0bb698a12b4b0c9513d272083676e9553b3840e8936671e85a'),
    size: 6,
  },
];

const chunk = fc.record({ hash, size: u32.filter((size) => size > 0) });

describe('chunk list', () => {
  it('writes the version 1 bytes and reads them back', () => {
    expect(Buffer.from(encodeChunkList(LIST)).toString('hex')).toBe(LIST_HEX);
    expect(decodeChunkList(Buffer.from(LIST_HEX, 'hex'))).toEqual(LIST);
  });

  it('reads back what it wrote', () => {
    fc.assert(
      fc.property(fc.array(chunk), (chunks) => {
        expect(decodeChunkList(encodeChunkList(chunks))).toEqual(chunks);
      }),
    );
  });

  it('takes no list whose length does not fit its count', () => {
    const list = Buffer.from(LIST_HEX, 'hex');
    for (let length = 0; length < list.length; length += 1) {
      expect(decodeChunkList(list.subarray(0, length))).toBeUndefined();
    }
    expect(decodeChunkList(Buffer.concat([list, Buffer.alloc(36)]))).toBeUndefined();
    list.writeUInt32LE(0xffff_ffff, 0);
    expect(decodeChunkList(list)).toBeUndefined();
  });

  it('takes no empty chunk', () => {
    const list = Buffer.from(LIST_HEX, 'hex');
    list.writeUInt32LE(0, 36);
    expect(decodeChunkList(list)).toBeUndefined();
  });
});
