import type { Answers } from '../api/answers.ts';

export type Tree = Answers['getTree'];
export type TreeNode = Tree['nodes'][number];
export type TreeBranch = Tree['branches'][number];

// The graph of branches. The server gives the turns that matter: roots, forks and heads. These functions find which
// branch owns which of them, and give each branch a lane. They are pure.

export interface GraphRow {
  readonly node: TreeNode;
  /** The branch that the turn belongs to. Turns before a fork belong to the older branch. */
  readonly branch: TreeBranch;
  readonly lane: number;
  /** Branches whose head this is. */
  readonly heads: readonly TreeBranch[];
  /** The row of the node below on the way to the root. */
  readonly parentRow: number | undefined;
  readonly parentLane: number | undefined;
  /** Turns between this node and the one below. */
  readonly between: number;
}

export interface Graph {
  /** Newest first. */
  readonly rows: readonly GraphRow[];
  readonly lanes: number;
  readonly laneOf: ReadonlyMap<string, number>;
}

const laidOut = new WeakMap<Tree, Graph>();

/** Several parts of a view ask for the same tree. */
export function layOut(tree: Tree): Graph {
  const known = laidOut.get(tree);
  if (known !== undefined) return known;
  const graph = toGraph(tree);
  laidOut.set(tree, graph);
  return graph;
}

function toGraph({ nodes, branches }: Tree): Graph {
  const sorted = [...nodes].sort((a, b) => Number(BigInt(b.turn) - BigInt(a.turn)));
  const rowOf = new Map(sorted.map(({ turn }, row) => [turn, row]));
  const byTurn = new Map(sorted.map((node) => [node.turn, node]));
  const owner = ownersOf(branches, byTurn);
  const laneOf = lanesOf(branches, spansOf(sorted, owner, rowOf));
  const rows = sorted.flatMap((node): GraphRow[] => {
    const branch = owner.get(node.turn);
    if (branch === undefined) return [];
    const parent = node.parent === undefined ? undefined : byTurn.get(node.parent);
    const parentOwner = parent === undefined ? undefined : owner.get(parent.turn);
    return [
      {
        node,
        branch,
        lane: laneOf.get(branch.context) ?? 0,
        heads: branches.filter(({ head }) => head === node.turn),
        parentRow: parent === undefined ? undefined : rowOf.get(parent.turn),
        parentLane: parentOwner === undefined ? undefined : laneOf.get(parentOwner.context),
        between: parent === undefined ? node.depth : node.depth - parent.depth - 1,
      },
    ];
  });
  return { rows, lanes: Math.max(0, ...laneOf.values()) + 1, laneOf };
}

/** Branches that lead through a node, in the order of the tree's list. */
export function branchesThrough(tree: Tree, node: string): TreeBranch[] {
  const byTurn = new Map(tree.nodes.map((one) => [one.turn, one]));
  return tree.branches.filter((branch) => {
    for (let at = byTurn.get(branch.head); at !== undefined; at = below(at, byTurn)) {
      if (at.turn === node) return true;
    }
    return false;
  });
}

/** The nearest node at or above a depth on the way to the head of a branch: the end of the segment of that depth. */
export function nodeOver(tree: Tree, context: string, depth: number): TreeNode | undefined {
  const byTurn = new Map(tree.nodes.map((node) => [node.turn, node]));
  const head = tree.branches.find((branch) => branch.context === context)?.head;
  let over: TreeNode | undefined;
  for (let at = byTurn.get(head ?? ''); at !== undefined; at = below(at, byTurn)) {
    if (at.depth < depth) break;
    over = at;
  }
  return over;
}

function below(node: TreeNode, byTurn: ReadonlyMap<string, TreeNode>): TreeNode | undefined {
  return node.parent === undefined ? undefined : byTurn.get(node.parent);
}

/** The first branch of the list that leads through a node owns it. The list begins with the main branch. */
function ownersOf(
  branches: readonly TreeBranch[],
  byTurn: ReadonlyMap<string, TreeNode>,
): Map<string, TreeBranch> {
  const owner = new Map<string, TreeBranch>();
  for (const branch of branches) {
    for (let at = byTurn.get(branch.head); at !== undefined; at = below(at, byTurn)) {
      if (owner.has(at.turn)) break;
      owner.set(at.turn, branch);
    }
  }
  return owner;
}

/** The rows from the head of a branch down to the turn that it was forked from. */
interface Span {
  readonly top: number;
  readonly bottom: number;
}

function spansOf(
  nodes: readonly TreeNode[],
  owner: ReadonlyMap<string, TreeBranch>,
  rowOf: ReadonlyMap<string, number>,
): Map<string, Span> {
  const spans = new Map<string, Span>();
  for (const [row, node] of nodes.entries()) {
    const branch = owner.get(node.turn);
    if (branch === undefined) continue;
    const bottom = rowOf.get(node.parent ?? '') ?? row;
    const span = spans.get(branch.context) ?? { top: row, bottom };
    spans.set(branch.context, {
      top: Math.min(span.top, row),
      bottom: Math.max(span.bottom, bottom),
    });
  }
  return spans;
}

/** The main branch keeps lane 0. Another one takes the first lane that is free from its fork to its head. */
function lanesOf(
  [main, ...others]: readonly TreeBranch[],
  spans: ReadonlyMap<string, Span>,
): Map<string, number> {
  const laneOf = new Map<string, number>();
  const taken: Span[][] = [[]];
  if (main !== undefined) laneOf.set(main.context, 0);
  // From the oldest fork to the newest, so that a lane is free again above the head that ended in it.
  const order = others
    .filter(({ context }) => spans.has(context))
    .sort((a, b) => (spans.get(b.context)?.bottom ?? 0) - (spans.get(a.context)?.bottom ?? 0));
  for (const { context } of order) {
    const span = spans.get(context) ?? { top: 0, bottom: 0 };
    let lane = 1;
    while (taken[lane]?.some((other) => other.top < span.bottom && span.top < other.bottom)) {
      lane += 1;
    }
    (taken[lane] ??= []).push(span);
    laneOf.set(context, lane);
  }
  return laneOf;
}

/** A line of the drawn graph: a node, a turn of a run that is unfolded, or a run of turns that is folded. */
export type GraphLine =
  | { readonly sort: 'node'; readonly row: GraphRow; readonly parentAt: number | undefined }
  | { readonly sort: 'turn'; readonly row: GraphRow; readonly turn: string; readonly at: number }
  | { readonly sort: 'run'; readonly row: GraphRow; readonly turns: number };

/** Turns of runs that were unfolded, newest first, by the node above the run. */
export type Unfolded = ReadonlyMap<string, readonly { readonly id: string; readonly at: number }[]>;

/** The lines to draw. The turns between two nodes stand below the upper one. */
export function toLines({ rows }: Graph, unfolded: Unfolded): GraphLine[] {
  const lineOf = new Map<number, number>();
  let next = 0;
  for (const [at, row] of rows.entries()) {
    lineOf.set(at, next);
    const open = unfolded.get(row.node.turn)?.length ?? 0;
    next += 1 + open + Number(row.between > open);
  }
  return rows.flatMap((row): GraphLine[] => {
    const open = unfolded.get(row.node.turn) ?? [];
    const parentAt = row.parentRow === undefined ? undefined : lineOf.get(row.parentRow);
    const turns = row.between - open.length;
    return [
      { sort: 'node', row, parentAt },
      ...open.map(({ id, at }): GraphLine => ({ sort: 'turn', row, turn: id, at })),
      ...(turns > 0 ? [{ sort: 'run', row, turns } as const] : []),
    ];
  });
}
