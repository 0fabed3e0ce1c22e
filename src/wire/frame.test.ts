import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeFrame, toFrame, toReqId } from './frame.ts';
import { FRAME_PAYLOAD_MAX } from './limits.ts';

const FIELDS = { type: 6, flags: 1, reqId: toReqId(7n) };

it('holds the same bytes as one array would', () => {
  const part = fc
    .constantFrom(0, 1, 100, 4095, 4096, 20_000)
    .map((size) => Buffer.alloc(size, size));
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      const { chunks, length } = toFrame(FIELDS, parts);
      const whole = encodeFrame(FIELDS.type, FIELDS.flags, FIELDS.reqId, ...parts);
      expect(length).toBe(whole.length);
      expect(Buffer.concat(chunks).equals(whole)).toBe(true);
    }),
  );
});

it('does not copy what is large, and joins what is small', () => {
  const large = Buffer.alloc(100_000);
  const { chunks } = toFrame(FIELDS, [Buffer.from('a'), Buffer.from('b'), large, Buffer.from('c')]);
  expect(chunks.map((chunk) => chunk.length)).toEqual([18, 100_000, 1]);
  expect(chunks[1]).toBe(large);
});

it('is TOO_LARGE past the limit of a frame', () => {
  const half = Buffer.alloc(FRAME_PAYLOAD_MAX / 2);
  expect(toFrame(FIELDS, [half, half]).length).toBe(FRAME_PAYLOAD_MAX + 16);
  expect(() => toFrame(FIELDS, [half, half, Buffer.alloc(1)])).toThrow(
    expect.objectContaining({ code: 'TOO_LARGE' }),
  );
});
