import type { TurnId } from '../../base/brand.ts';
import type { ContextRow, TurnRow } from '../../engine/rows.ts';

// The skeleton of a tree of turns: the turns that matter (the root, forks and heads) and how they hang on each other.
// It costs a few record reads for each branch, however many turns lie between.

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
  heads: readonly Pick<ContextRow, 'head'>[],
): Promise<BranchTree> {
  const roots = new Map<TurnId, Knot>();
  for (const { head } of heads) {
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
  await addHead(knot, head, turns);
  return knot;
}

/** Walks up from the root, one knot at a time, until the head parts from what is known. */
async function addHead(root: Knot, head: TurnRow, turns: TreeTurns): Promise<void> {
  let at = root;
  while (at.row.id !== head.id) {
    const first = await turns.ancestorAt(head.id, at.row.depth + 1);
    if (first === undefined) return;
    const next = at.above.get(first.id);
    if (next === undefined) {
      at.above.set(first.id, { row: head, parent: at, above: new Map() });
      return;
    }
    const shared = await turns.commonAncestor(next.row.id, head.id);
    if (shared === undefined) return;
    if (shared.id === next.row.id) at = next;
    else at = await splitBelow(next, first.id, shared, turns);
  }
}

/** Puts a new knot between `next` and the knot below it. */
async function splitBelow(
  next: Knot,
  first: TurnId,
  shared: TurnRow,
  turns: TreeTurns,
): Promise<Knot> {
  const below = next.parent as Knot;
  const middle: Knot = { row: shared, parent: below, above: new Map() };
  below.above.set(first, middle);
  next.parent = middle;
  const over = await turns.ancestorAt(next.row.id, shared.depth + 1);
  if (over !== undefined) middle.above.set(over.id, next);
  return middle;
}
