import { encode, ExtData } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkMsgpackBounds, decodeMsgpack } from './binary-values.ts';

const REFUSED = /claims more than its bytes|more than \d+ (?:levels|values)|outside the bounds/;

const HOSTILE = [
  ['a thousand arrays of a million', Buffer.from('dd000f4240'.repeat(1000), 'hex')],
  ['an array of four billion', Buffer.from('ddffffffff', 'hex')],
  ['a map of four billion', Buffer.from('dfffffffff', 'hex')],
  ['a text of four billion bytes', Buffer.from('dbffffffff', 'hex')],
  ['bytes of which one is missing', Buffer.from('c4020a', 'hex')],
  ['an extension without its bytes', Buffer.from('d801', 'hex')],
  ['a number without its bytes', Buffer.from('cf00', 'hex')],
  ['a megabyte of arrays in each other', Buffer.alloc(1 << 20, 0x91)],
  [
    'two million empty maps',
    Buffer.concat([Buffer.from('dd001e8480', 'hex'), Buffer.alloc(2_000_000, 0x80)]),
  ],
  ['nothing', Buffer.alloc(0)],
] as const;

describe('the bounds of MessagePack', () => {
  it.each(HOSTILE)('refuse %s', (_, bytes) => {
    expect(() => decodeMsgpack(bytes)).toThrow(REFUSED);
  });

  it('let every value through that the encoder writes', () => {
    const leaf = fc.oneof(
      fc.anything({ maxDepth: 0, withBigInt: false }).filter((value) => value !== undefined),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
      fc.uint8Array({ maxLength: 70_000 }),
      fc.date({ noInvalidDate: true }),
      fc.uint8Array({ maxLength: 300 }).map((data) => new ExtData(7, data)),
      fc.string({ maxLength: 300 }),
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        leaf,
        fc.array(tie('value')),
        fc.dictionary(fc.string(), tie('value')),
      ),
    }));
    fc.assert(
      fc.property(value, (given) => {
        const bytes = encode(given, { useBigInt64: true, ignoreUndefined: true });
        checkMsgpackBounds(bytes);
        expect(() => checkMsgpackBounds(bytes.subarray(0, -1))).toThrow(REFUSED);
      }),
    );
  });

  it('take keys that are whole numbers, however many bytes they have', () => {
    const bytes = Buffer.from(
      '83' + '01a161' + 'cf0000000000000002a162' + 'd3ffffffffffffffffa163',
      'hex',
    );
    expect(decodeMsgpack(bytes)).toEqual({ '1': 'a', '2': 'b', '-1': 'c' });
    const large = Buffer.from('81' + 'cfffffffffffffffff' + '07', 'hex');
    expect(decodeMsgpack(large)).toEqual({ '18446744073709551615': 7 });
    for (const key of ['c0', 'c3', '80', '90', 'c4020102']) {
      expect(() => decodeMsgpack(Buffer.from(`81${key}01`, 'hex'))).toThrow(/a key of a map/);
    }
  });

  it('take long arrays and maps', () => {
    const items = Array.from({ length: 70_000 }, (_, n) => n);
    expect(decodeMsgpack(encode(items))).toEqual(items);
    const map = Object.fromEntries(items.map((n) => [`k${n}`, n]));
    expect(decodeMsgpack(encode(map))).toEqual(map);
  });
});
