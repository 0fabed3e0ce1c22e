import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { jumpDepth, jumpsToGrandJump, stepTowards } from './turn-record.ts';

const CHAIN = 20_000;
const DEPTH = fc.integer({ min: 0, max: 1_000_000 });

function bound(depth: number): number {
  return 2 * Math.log2(depth + 1);
}

/** The pointers of one chain as appends make them: each from its parent's, with the rule alone. */
function buildJumps(length: number): number[] {
  const jumps = [0];
  for (let depth = 1; depth < length; depth += 1) {
    const parent = depth - 1;
    const jump = jumps[parent] ?? 0;
    jumps.push(jumpsToGrandJump(parent) ? (jumps[jump] ?? 0) : parent);
  }
  return jumps;
}

/** The pointers by the definition: merge two equal jumps, else point to the parent. */
function buildNaively(length: number): number[] {
  const jumps = [0];
  for (let depth = 1; depth < length; depth += 1) {
    const parent = depth - 1;
    const first = jumps[parent] ?? 0;
    const second = jumps[first] ?? 0;
    jumps.push(parent > 0 && parent - first === first - second ? second : parent);
  }
  return jumps;
}

function stepsBetween(from: number, to: number): number {
  let steps = 0;
  for (let depth = from; depth !== to; steps += 1) {
    const step = stepTowards(depth, to);
    if (step === 'parent') depth -= 1;
    else depth = jumpDepth(step === 'jump' ? depth : depth - 1);
  }
  return steps;
}

describe('jump pointers', () => {
  it('are the skew-binary ones', () => {
    expect(Array.from({ length: 16 }, (_, depth) => jumpDepth(depth))).toEqual([
      0, 0, 1, 0, 3, 4, 3, 0, 7, 8, 7, 10, 11, 10, 7, 0,
    ]);
  });

  it('come out the same by arithmetic, by the rule and by the definition', () => {
    const naive = buildNaively(CHAIN);
    expect(buildJumps(CHAIN)).toEqual(naive);
    expect(naive.map((_, depth) => jumpDepth(depth))).toEqual(naive);
  });

  it('reach any ancestor in 2 log2(n) steps', () => {
    const pairs = fc.sample(fc.tuple(DEPTH, DEPTH), { numRuns: 4000, seed: 1 });
    for (const [a, b] of pairs) {
      const [from, to] = [Math.max(a, b), Math.min(a, b)];
      expect(stepsBetween(from, to)).toBeLessThanOrEqual(bound(from));
    }
  });

  it('reach every ancestor of a short chain within the bound', () => {
    const worst = (from: number): number =>
      Math.max(...Array.from({ length: from + 1 }, (_, to) => stepsBetween(from, to)));
    for (let from = 1; from < 400; from += 1) expect(worst(from)).toBeLessThanOrEqual(bound(from));
  });

  it('works at the largest depth', () => {
    expect(jumpDepth(0xffff_ffff)).toBe(0);
    expect(jumpDepth(0xffff_fffe)).toBe(0x7fff_ffff);
    expect(jumpsToGrandJump(0xffff_fffe)).toBe(true);
  });
});
