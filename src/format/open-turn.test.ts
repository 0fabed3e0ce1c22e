import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { data, safeNumber } from '../../test/golden/arbitraries.ts';
import { everyFlip } from '../../test/golden/record-suite.ts';
import { decodeDelta, DELTA_HEADER_BYTES, encodeDelta } from './turn-record.ts';

const DELTA_HEX = '06000000000000000500000061527ed468656c6c6f';

const DELTA = { offset: 6, data: Buffer.from('hello') };

describe('delta of an open turn', () => {
  it('writes the version 1 bytes and reads them back', () => {
    expect(Buffer.from(encodeDelta(DELTA)).toString('hex')).toBe(DELTA_HEX);
    expect(decodeDelta(Buffer.from(DELTA_HEX, 'hex'))).toEqual(DELTA);
  });

  it('reads one after the other', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ offset: safeNumber, data })), (deltas) => {
        const file = Buffer.concat(deltas.map((delta) => encodeDelta(delta)));
        let at = 0;
        for (const delta of deltas) {
          expect(decodeDelta(file, at)).toEqual(delta);
          at += DELTA_HEADER_BYTES + delta.data.length;
        }
        expect(decodeDelta(file, at)).toBeUndefined();
      }),
    );
  });

  it('takes none with a byte changed or missing', () => {
    const delta = Buffer.from(DELTA_HEX, 'hex');
    for (const flipped of everyFlip(delta)) expect(decodeDelta(flipped)).toBeUndefined();
    for (let length = 0; length < delta.length; length += 1) {
      expect(decodeDelta(delta.subarray(0, length))).toBeUndefined();
    }
  });
});
