import { jumpsToGrandJump, type TurnRecord } from '../../../format/turn-record.ts';

// The facts to remember of each turn while the records are read in order: its depth and its jump. They take 8 bytes
// and a bit per turn, 4 bytes per context: 82 MB for ten million turns. Turns are numbered below 2^32 here. A store
// with more turns would have half a terabyte of turn records alone.

export class TurnLinks {
  readonly #depths: Uint32Array;
  readonly #jumps: Uint32Array;
  readonly #intact: Uint8Array;
  readonly #newest: Uint32Array;

  constructor(nextTurn: number, nextContext: number) {
    this.#depths = new Uint32Array(nextTurn);
    this.#jumps = new Uint32Array(nextTurn);
    this.#intact = new Uint8Array(Math.ceil(nextTurn / 8));
    this.#newest = new Uint32Array(nextContext);
  }

  add(turn: TurnRecord): void {
    const id = Number(turn.id);
    this.#depths[id] = turn.depth;
    this.#jumps[id] = Number(turn.jump);
    this.#intact[id >> 3] = (this.#intact[id >> 3] ?? 0) | (1 << (id & 7));
    const context = Number(turn.context);
    if (context < this.#newest.length) this.#newest[context] = id;
  }

  isIntact(id: number): boolean {
    return ((this.#intact[Math.floor(id / 8)] ?? 0) & (1 << (id % 8))) !== 0;
  }

  depthOf(id: number): number {
    return this.#depths[id] ?? 0;
  }

  /** The newest turn that was appended to the context. 0 when there is none. */
  newestIn(context: number): number {
    return this.#newest[context] ?? 0;
  }

  /** Describes the error in the turn's place in its tree. Undefined when it is right or cannot be checked. */
  problemOf(turn: TurnRecord): string | undefined {
    const id = Number(turn.id);
    const parent = Number(turn.parent);
    if (parent === 0) {
      const isRoot = turn.depth === 0 && turn.jump === 0n && turn.sideJump === 0n;
      return isRoot ? undefined : `turn ${id} has no parent, and is not at depth 0`;
    }
    if (parent >= id) return `the parent of turn ${id} is not older than the turn`;
    // A damaged parent is a separate problem.
    if (!this.isIntact(parent)) return undefined;
    const depth = this.depthOf(parent);
    if (turn.depth !== depth + 1) return `the depth of turn ${id} does not fit its parent`;
    const parentJump = this.#jumps[parent] ?? 0;
    if (Number(turn.sideJump) !== parentJump) return `the side jump of turn ${id} is wrong`;
    const viaJump = parentJump !== 0 && jumpsToGrandJump(depth);
    if (viaJump && !this.isIntact(parentJump)) return undefined;
    const jump = viaJump ? (this.#jumps[parentJump] ?? 0) : parent;
    return Number(turn.jump) === jump ? undefined : `the jump of turn ${id} is wrong`;
  }
}
