import { describe, expect, it } from 'vitest';
import type { TurnId } from '../../base/brand.ts';
import type { TurnDelta } from '../../engine/batch.ts';
import { DeltaTail, bytesAfter } from './follow-open.ts';

const delta = (offset: number, text: string): TurnDelta => ({
  turn: 1n as TurnId,
  offset,
  bytes: Buffer.from(text),
});
const textAfter = (have: number, ...deltas: TurnDelta[]): string | undefined => {
  const bytes = bytesAfter(have, deltas);
  return bytes && Buffer.from(bytes).toString();
};

describe('bytesAfter', () => {
  it('leaves out what is known already', () => {
    expect(textAfter(0, delta(0, 'ab'), delta(2, 'cd'))).toBe('abcd');
    expect(textAfter(3, delta(0, 'ab'), delta(2, 'cd'), delta(2, 'cdef'))).toBe('def');
    expect(textAfter(4, delta(0, 'ab'))).toBe('');
  });

  it('notices a gap', () => {
    expect(textAfter(1, delta(2, 'c'))).toBeUndefined();
  });
});

describe('DeltaTail', () => {
  it('asks for a read first, then hands out what came', () => {
    const tail = new DeltaTail(10);
    tail.add(delta(0, 'ab'));
    expect(tail.take()).toBeUndefined();
    tail.add(delta(2, 'cd'));
    expect(tail.take()).toEqual([delta(2, 'cd')]);
    expect(tail.take()).toEqual([]);
  });

  it('drops what is too much and asks for a read', () => {
    const tail = new DeltaTail(3);
    tail.take();
    tail.add(delta(0, 'ab'));
    tail.add(delta(2, 'cd'));
    tail.add(delta(4, 'e'));
    expect(tail.take()).toBeUndefined();
    tail.add(delta(5, 'f'));
    expect(tail.take()).toEqual([delta(5, 'f')]);
  });
});
