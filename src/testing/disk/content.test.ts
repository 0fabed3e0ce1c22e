import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Content } from './content.ts';

type Step =
  | { do: 'write'; position: number; bytes: Uint8Array }
  | { do: 'resize'; length: number }
  | { do: 'clone' };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('write' as const),
    position: fc.nat(5000),
    bytes: fc.uint8Array({ maxLength: 3000 }),
  }),
  fc.record({ do: fc.constant('resize' as const), length: fc.nat(8000) }),
  fc.record({ do: fc.constant('clone' as const) }),
);

/** The same step on a plain array, as the truth. */
function applyToArray(bytes: Uint8Array, step: Step): Uint8Array {
  if (step.do === 'clone') return bytes;
  const end = step.do === 'write' ? step.position + step.bytes.length : step.length;
  const grown =
    step.do === 'write' && step.bytes.length === 0 ? bytes.length : Math.max(bytes.length, end);
  const next = new Uint8Array(step.do === 'resize' ? step.length : grown);
  next.set(bytes.subarray(0, next.length));
  if (step.do === 'write' && step.bytes.length > 0) next.set(step.bytes, step.position);
  return next;
}

describe('Content', () => {
  it('holds the bytes an array would, and its clones keep what they had', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        let content = new Content();
        let expected: Uint8Array = new Uint8Array();
        const kept: { clone: Content; bytes: Uint8Array }[] = [];
        for (const [index, next] of steps.entries()) {
          if (next.do === 'write') content.write(next.bytes, next.position);
          if (next.do === 'resize') content.resize(next.length);
          if (next.do === 'clone') {
            const clone = content.clone();
            // Either side of a clone may be the one that goes on.
            kept.push({ clone: index % 2 === 0 ? clone : content, bytes: expected });
            if (index % 2 !== 0) content = clone;
          }
          expected = applyToArray(expected, next);
        }
        expect(Buffer.compare(content.toBytes(), expected)).toBe(0);
        expect(content.hash()).toBe(Content.from(expected).hash());
        for (const { clone, bytes } of kept) expect(Buffer.compare(clone.toBytes(), bytes)).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  it('tells contents apart by their hash, also records that end in their own checksum', () => {
    const hashes = new Set<number>();
    for (let value = 0; value < 2000; value++) {
      const content = new Content();
      content.resize(4096);
      content.write(Uint8Array.of(value & 255, value >> 8), 1500);
      hashes.add(content.hash());
    }
    expect(hashes.size).toBe(2000);
    const longer = new Content();
    longer.resize(4097);
    expect(hashes.has(longer.hash())).toBe(false);
  });

  it('reads fewer bytes only at the end', () => {
    const content = Content.from(Uint8Array.of(1, 2, 3));
    const into = new Uint8Array(4);
    expect(content.read(into, 1)).toBe(2);
    expect([...into]).toEqual([2, 3, 0, 0]);
    expect(content.read(into, 3)).toBe(0);
    expect(content.read(into, 9)).toBe(0);
  });
});
