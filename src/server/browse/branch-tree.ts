import { setImmediate } from 'node:timers/promises';
import type { TurnId } from '../../base/brand.ts';
import type { ContextRow, TurnRow } from '../../engine/rows.ts';

// The skeleton of a tree of turns: the turns that matter (the root, forks and heads) and how they hang on each other.
// A skeleton costs a few record reads for each branch, however many turns lie between.

const BREATH = 20;

export interface TreeTurns {
  getTurn(id: TurnId): Promise<TurnRow | undefined>;
  ancestorAt(turn: TurnId, depth: number): Promise<TurnRow | undefined>;
  commonAncestor(a: TurnId, b: TurnId): Promise<TurnRow | undefined>;
}

export interface TreeNode {
  readonly row: TurnRow;
  /** The next node on the way to the root. Absent for a root. */
  readonly parent?: TurnId;
}

export interface BranchTree {
  readonly nodes: readonly TreeNode[];
  /** Distinct turns of all branches together. */
  readonly turns: number;
}

/** A node with the nodes above it, each by the first turn on the way to it. */
interface Knot {
  readonly row: TurnRow;
  parent: Knot | undefined;
  readonly above: Map<TurnId, Knot>;
}

/** Heads of one tree, or of several. A head that cannot be read is left out. */
export async function branchTree(
  turns: TreeTurns,
  heads: readonly Pick<ContextRow, 'head' | 'headDepth'>[],
): Promise<BranchTree> {
  const roots = new Map<TurnId, Knot>();
  const deepestFirst = heads.toSorted((a, b) => b.headDepth - a.headDepth);
  for (const [n, { head }] of deepestFirst.entries()) {
    // Reads from memory leave no room for others.
    if (n % BREATH === BREATH - 1) await setImmediate();
    const row = await turns.getTurn(head);
    const root = row && (await turns.ancestorAt(head, 0));
    if (row === undefined || root === undefined) continue;
    const known = roots.get(root.id);
    if (known === undefined) roots.set(root.id, await firstKnots(root, row, turns));
    else await addHead(known, row, turns);
  }
  const nodes: TreeNode[] = [];
  let count = 0;
  const open = [...roots.values()];
  for (let knot = open.pop(); knot !== undefined; knot = open.pop()) {
    const { row, parent } = knot;
    nodes.push({ row, ...(parent !== undefined && { parent: parent.row.id }) });
    count += row.depth - (parent?.row.depth ?? -1);
    open.push(...knot.above.values());
  }
  return { nodes, turns: count };
}

async function firstKnots(root: TurnRow, head: TurnRow, turns: TreeTurns): Promise<Knot> {
  const knot: Knot = { row: root, parent: undefined, above: new Map() };
  const first = await turns.ancestorAt(head.id, 1);
  if (first !== undefined) {
    knot.above.set(first.id, { row: head, parent: knot, above: new Map() });
  }
  return knot;
}

/**
 * Finds where the head parts from what is known: its common ancestor with one known leaf, and again in the subtree that
 * it turns into there. The leaf is the deepest one, because heads come in the order of their depth. So each turn away
 * from it leads into a subtree that is less deep, and a head takes a few record reads even where every branch parts
 * from the one before it. Steps between knots are in memory.
 */
async function addHead(root: Knot, head: TurnRow, turns: TreeTurns): Promise<void> {
  for (let at = root; at.row.id !== head.id;) {
    const leaf = leafOver(at);
    const shared = await turns.commonAncestor(leaf.row.id, head.id);
    if (shared === undefined) return;
    const knot = await knotAt(shared, leaf, turns);
    if (shared.id === head.id) return;
    const first = await turns.ancestorAt(head.id, shared.depth + 1);
    if (first === undefined) return;
    const next = knot.above.get(first.id);
    if (next === undefined) {
      knot.above.set(first.id, { row: head, parent: knot, above: new Map() });
      return;
    }
    at = next;
  }
}

/** The end of the longest way up: heads were added in the order of their depth. */
function leafOver(knot: Knot): Knot {
  let at = knot;
  for (let next: Knot | undefined = at; next !== undefined; [next] = at.above.values()) at = next;
  return at;
}

/** The knot of a turn on the way from a leaf to the root; a new one when the turn lies between two knots. */
async function knotAt(turn: TurnRow, leaf: Knot, turns: TreeTurns): Promise<Knot> {
  let over = leaf;
  while (over.row.depth > turn.depth) {
    const below = over.parent as Knot;
    if (below.row.depth < turn.depth) return splitBelow(over, turn, turns);
    over = below;
  }
  return over;
}

/** Puts a new knot between `next` and the knot below it. */
async function splitBelow(next: Knot, shared: TurnRow, turns: TreeTurns): Promise<Knot> {
  const below = next.parent as Knot;
  const middle: Knot = { row: shared, parent: below, above: new Map() };
  for (const [first, knot] of below.above) if (knot === next) below.above.set(first, middle);
  next.parent = middle;
  const over = await turns.ancestorAt(next.row.id, shared.depth + 1);
  if (over !== undefined) middle.above.set(over.id, next);
  return middle;
}
