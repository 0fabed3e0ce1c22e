// Computes from depths alone which ancestor a turn's jump pointer names. docs/format/turns.md
//
// Write a depth as a sum of numbers 2^k - 1, the largest first: every size comes once, but the last
// may come twice (skew binary). A turn jumps over the last number of its own depth. So a walk towards
// any depth takes the jump when that does not overshoot and the parent otherwise, and needs less than
// 2 log2(n) steps on average and 3 log2(n) at worst; and a child finds its jump from its parent's,
// without a walk.

/** The depth of the jump target of a turn at `depth`. A root has none; it answers 0. */
export function jumpDepth(depth: number): number {
  let rest = depth;
  let last = 0;
  while (rest > 0) {
    last = largestTerm(rest);
    rest -= last;
  }
  return depth - last;
}

/**
 * Whether the child of a turn at `parentDepth` jumps to the jump of the parent's jump; otherwise it
 * jumps to the parent. True when the parent's two last numbers are equal: the child merges them.
 */
export function jumpsToGrandJump(parentDepth: number): boolean {
  const middle = jumpDepth(parentDepth);
  return middle > 0 && parentDepth - middle === middle - jumpDepth(middle);
}

/** The largest 2^k - 1 that is not above `n`. Depths are u32, and so is n + 1 but for the last one. */
function largestTerm(n: number): number {
  // A shift, because a power takes ten times as long, and every turn asks a few times.
  return n === 0xffff_ffff ? n : (0x8000_0000 >>> Math.clz32(n + 1)) - 1;
}

export type Step = 'parent' | 'jump' | 'side';

/** Picks the one of a turn's three pointers that leads from `depth` closest to its ancestor at `target`. */
export function stepTowards(depth: number, target: number): Step {
  const jump = jumpDepth(depth);
  const side = jumpDepth(depth - 1);
  if (side >= target && side < jump) return 'side';
  if (jump >= target) return 'jump';
  return side >= target ? 'side' : 'parent';
}
