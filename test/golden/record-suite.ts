import { expect, it } from 'vitest';
import fc from 'fast-check';

export interface RecordTarget<T> {
  /** Version 1 bytes as hex, and what they mean. A change here is a change of the format. */
  readonly golden: readonly { readonly hex: string; readonly value: T }[];
  readonly values: fc.Arbitrary<T>;
  readonly encode: (value: T) => Uint8Array;
  readonly decode: (bytes: Uint8Array) => T | undefined;
  /** A record that is written over a longer one may have bytes after it. */
  readonly trailing?: 'allowed';
}

/** What every record must show: pinned bytes, a round trip, and that no damaged byte is ever taken. */
export function recordSuite<T>(target: RecordTarget<T>): void {
  const { golden, values, encode, decode } = target;

  it('writes the version 1 bytes and reads them back', () => {
    for (const { hex, value } of golden) {
      expect(Buffer.from(encode(value)).toString('hex')).toBe(hex);
      expect(decode(Buffer.from(hex, 'hex'))).toEqual(value);
    }
  });

  it('reads back what it wrote', () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(decode(encode(value))).toEqual(value);
      }),
    );
  });

  it('reads from a plain array that is a part of a larger one', () => {
    for (const { hex, value } of golden) {
      const record = Buffer.from(hex, 'hex');
      const page = new Uint8Array(record.length + 10).fill(0xaa);
      page.set(record, 5);
      expect(decode(page.subarray(5, 5 + record.length))).toEqual(value);
    }
  });

  it('takes no record with a byte changed', () => {
    for (const { hex } of golden) {
      const record = Buffer.from(hex, 'hex');
      for (const flipped of everyFlip(record)) expect(decode(flipped)).toBeUndefined();
    }
  });

  it('takes no record cut short', () => {
    for (const { hex } of golden) {
      const record = Buffer.from(hex, 'hex');
      for (let length = 0; length < record.length; length += 1) {
        expect(decode(record.subarray(0, length))).toBeUndefined();
      }
    }
  });

  it(`takes ${target.trailing === 'allowed' ? 'the' : 'no'} record with a byte too many`, () => {
    for (const { hex, value } of golden) {
      const longer = Buffer.concat([Buffer.from(hex, 'hex'), Buffer.from([0])]);
      expect(decode(longer)).toEqual(target.trailing === 'allowed' ? value : undefined);
    }
  });
}

/** Each byte with each single bit flipped, and with all of them. Every copy is a new array. */
export function* everyFlip(record: Uint8Array): Generator<Uint8Array> {
  const masks = [1, 2, 4, 8, 16, 32, 64, 128, 255];
  for (let at = 0; at < record.length; at += 1) {
    for (const mask of masks) {
      const flipped = Uint8Array.from(record);
      flipped[at] = (flipped[at] ?? 0) ^ mask;
      yield flipped;
    }
  }
}
