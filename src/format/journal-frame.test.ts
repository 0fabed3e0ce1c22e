import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { data, safeNumber } from '../../test/golden/arbitraries.ts';
import { everyFlip } from '../../test/golden/record-suite.ts';
import { crc32 } from './bytes.ts';
import {
  FRAME_ALIGN_BYTES,
  FRAME_HEADER_BYTES,
  decodeFrameBody,
  decodeFrameHeader,
  encodeFrame,
  frameLength,
} from './journal-frame.ts';
import type { JournalWrite } from './journal-frame.ts';

/** Without the padding. */
const FRAME_HEX =
  '514a524e0100000009000000000000008600000004000000060c92438656193f01000f0005000000' +
  '80000000000000007475726e732f7475726e732e6c6f6768656c6c6f020006000200000000000000' +
  '00000000612e6a736f6e7b7d03000c000000000000000000000000007475726e732f6f70656e2f34' +
  '04001600080000002000000000000000626c6f62732f7061636b2d3030303030372e7061636be803' +
  '000000000000';

const WRITES: readonly JournalWrite[] = [
  { kind: 'bytes', path: 'turns/turns.log', offset: 128, data: Buffer.from('hello') },
  { kind: 'whole', path: 'a.json', data: Buffer.from('{}') },
  { kind: 'remove', path: 'turns/open/4' },
  { kind: 'extent', path: 'blobs/pack-000007.pack', offset: 32, length: 1000 },
];

const path = fc
  .array(fc.stringMatching(/^[a-zé_-][a-zé_.-]{0,8}$/), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join('/'));

const write: fc.Arbitrary<JournalWrite> = fc.oneof(
  fc.record({ kind: fc.constant('bytes' as const), path, offset: safeNumber, data }),
  fc.record({ kind: fc.constant('whole' as const), path, data }),
  fc.record({ kind: fc.constant('remove' as const), path }),
  fc.record({ kind: fc.constant('extent' as const), path, offset: safeNumber, length: safeNumber }),
);

function decodeFrame(bytes: Uint8Array): { seq: number; writes: JournalWrite[] } | undefined {
  const header = decodeFrameHeader(bytes);
  if (header === undefined) return undefined;
  const writes = decodeFrameBody(header, bytes.subarray(FRAME_HEADER_BYTES));
  return writes === undefined ? undefined : { seq: header.seq, writes };
}

/** The frame of one write whose raw bytes are given, checksums right. */
function frameOfBody(body: Buffer, writeCount = 1): Uint8Array {
  const frame = Buffer.concat([Buffer.from(FRAME_HEX, 'hex').subarray(0, 32), body]);
  frame.writeUInt32LE(body.length, 16);
  frame.writeUInt32LE(writeCount, 20);
  frame.writeUInt32LE(crc32(body), 24);
  frame.writeUInt32LE(crc32(frame.subarray(0, 28)), 28);
  return frame;
}

function bodyOf(one: JournalWrite): Buffer {
  const frame = encodeFrame(1, [one]);
  const length = decodeFrameHeader(frame)?.bodyLength ?? 0;
  return Buffer.from(frame.subarray(FRAME_HEADER_BYTES, FRAME_HEADER_BYTES + length));
}

describe('journal frame', () => {
  it('writes the version 1 bytes, zeros up to the next boundary, and reads them back', () => {
    const frame = Buffer.from(encodeFrame(9, WRITES));
    const used = FRAME_HEX.length / 2;
    expect(frame.length).toBe(FRAME_ALIGN_BYTES);
    expect(frame.subarray(0, used).toString('hex')).toBe(FRAME_HEX);
    expect(frame.subarray(used).every((byte) => byte === 0)).toBe(true);
    expect(decodeFrame(frame)).toEqual({ seq: 9, writes: WRITES });
    expect(decodeFrame(Buffer.from(FRAME_HEX, 'hex'))).toEqual({ seq: 9, writes: WRITES });
  });

  it('reads back what it wrote', () => {
    fc.assert(
      fc.property(safeNumber, fc.array(write), (seq, writes) => {
        const frame = encodeFrame(seq, writes);
        expect(frame.length % FRAME_ALIGN_BYTES).toBe(0);
        expect(frame.length).toBe(frameLength(decodeFrameHeader(frame)?.bodyLength ?? 0));
        expect(decodeFrame(frame)).toEqual({ seq, writes });
      }),
    );
  });

  it('takes up whole blocks, also when the body ends on a boundary', () => {
    expect(frameLength(0)).toBe(4096);
    expect(frameLength(4064)).toBe(4096);
    expect(frameLength(4065)).toBe(8192);
  });

  it('takes none with a byte changed, in the padding too', () => {
    const used = Buffer.from(FRAME_HEX, 'hex');
    for (const flipped of everyFlip(used)) expect(decodeFrame(flipped)).toBeUndefined();
    const frame = encodeFrame(9, WRITES);
    frame[used.length] = 1;
    expect(decodeFrame(frame)).toBeUndefined();
  });

  it('takes none cut short', () => {
    const frame = Buffer.from(FRAME_HEX, 'hex');
    for (let length = 0; length < frame.length; length += 1) {
      expect(decodeFrame(frame.subarray(0, length))).toBeUndefined();
    }
  });

  it('takes no write outside the store', () => {
    const paths = ['', '/etc/x', '../x', 'a/../../x', 'a//b', './a', 'a/', 'a\\b', 'a\0b'];
    for (const outside of paths) {
      const frame = encodeFrame(1, [{ kind: 'whole', path: outside, data: Buffer.from('x') }]);
      expect(decodeFrame(frame)).toBeUndefined();
    }
  });

  it('takes no write that is not one, even with good checksums', () => {
    const whole = bodyOf({ kind: 'whole', path: 'a', data: Buffer.from('x') });
    expect(decodeFrame(frameOfBody(whole))).toBeDefined();
    expect(decodeFrame(frameOfBody(whole, 2))).toBeUndefined();
    expect(decodeFrame(frameOfBody(whole.subarray(0, -1)))).toBeUndefined();
    // Byte 0: an unknown kind; 1: reserved; 8: an offset for a whole file; 16: no UTF-8.
    for (const offset of [0, 1, 8, 16]) {
      const body = Buffer.from(whole);
      body[offset] = 0xff;
      expect(decodeFrame(frameOfBody(body))).toBeUndefined();
    }
    const remove = Buffer.from(whole);
    remove[0] = 3;
    expect(decodeFrame(frameOfBody(remove))).toBeUndefined();
  });
});
