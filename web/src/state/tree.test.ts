import { expect, it } from 'vitest';
import { branchesThrough, layOut, nodeOver, toLines, type Tree } from './tree.ts';

const node = (turn: number, depth: number, parent?: number): Tree['nodes'][number] => ({
  turn: String(turn),
  depth,
  ...(parent !== undefined && { parent: String(parent) }),
  context: '1',
  type: 'note',
  createdAt: turn,
});
const branch = (context: number, head: number): Tree['branches'][number] => ({
  context: String(context),
  head: String(head),
  headDepth: 0,
  base: '0',
  openTurn: '0',
  updatedAt: head,
});

/** A trunk 1 → 10 → 50, forks from 10 to 20 and to 30, and one from 20 to 40. */
const tree: Tree = {
  nodes: [
    node(1, 0),
    node(10, 9, 1),
    node(50, 40, 10),
    node(20, 14, 10),
    node(30, 12, 10),
    node(40, 16, 20),
  ],
  branches: [branch(1, 50), branch(2, 20), branch(3, 30), branch(4, 40)],
  turns: 60,
  more: false,
};

it('gives the main branch lane 0, and others the nearest lane that is free', () => {
  const { rows, laneOf, lanes } = layOut(tree);
  expect(rows.map((row) => row.node.turn)).toEqual(['50', '40', '30', '20', '10', '1']);
  expect(laneOf.get('1')).toBe(0);
  expect(lanes).toBeLessThanOrEqual(4);
  for (const [at, row] of rows.entries()) {
    expect(row.parentRow ?? at + 1).toBeGreaterThan(at);
  }
  // Cords in one lane do not cover each other.
  const spans = rows.filter(({ parentRow }) => parentRow !== undefined);
  for (const [a, one] of spans.entries()) {
    for (const [b, other] of spans.entries()) {
      if (a >= b || one.branch === other.branch || one.lane !== other.lane) continue;
      expect(Math.max(a, b)).toBeGreaterThanOrEqual(
        Math.min(one.parentRow ?? 0, other.parentRow ?? 0),
      );
    }
  }
});

it('counts the turns between two nodes', () => {
  const rows = new Map(layOut(tree).rows.map((row) => [row.node.turn, row]));
  expect(rows.get('50')?.between).toBe(30);
  expect(rows.get('10')?.between).toBe(8);
  expect(rows.get('1')?.between).toBe(0);
});

it('folds runs into one line each, and unfolds them', () => {
  const graph = layOut(tree);
  const folded = toLines(graph, new Map());
  expect(folded.filter(({ sort }) => sort === 'node')).toHaveLength(6);
  expect(folded.slice(0, 2)).toMatchObject([
    { sort: 'node', row: { node: { turn: '50' } } },
    { sort: 'run', turns: 30 },
  ]);
  const some = Array.from({ length: 3 }, (_, at) => ({ id: String(49 - at), at }));
  const lines = toLines(graph, new Map([['50', some]]));
  expect(lines).toHaveLength(folded.length + 3);
  expect(lines[1]).toMatchObject({ sort: 'turn', turn: '49' });
  expect(lines[4]).toMatchObject({ sort: 'run', turns: 27 });
  for (const given of [folded, lines]) {
    for (const line of given) {
      if (line.sort !== 'node' || line.parentAt === undefined) continue;
      expect(given[line.parentAt]).toMatchObject({ row: { node: { turn: line.row.node.parent } } });
    }
  }
});

it('names the heads where they are', () => {
  const rows = new Map(layOut(tree).rows.map((row) => [row.node.turn, row]));
  expect(rows.get('20')?.heads.map(({ context }) => context)).toEqual(['2']);
  expect(rows.get('10')?.heads).toEqual([]);
});

it('knows the branches that share a turn', () => {
  expect(branchesThrough(tree, '10').map(({ context }) => context)).toEqual(['1', '2', '3', '4']);
  expect(branchesThrough(tree, '20').map(({ context }) => context)).toEqual(['2', '4']);
  expect(nodeOver(tree, '4', 15)?.turn).toBe('40');
  expect(nodeOver(tree, '4', 12)?.turn).toBe('20');
  expect(nodeOver(tree, '4', 5)?.turn).toBe('10');
});

it('lays out 500 forks of 10,000 turns at once', () => {
  const nodes = [
    node(1, 0),
    ...Array.from({ length: 500 }, (_, at) => node(20 * (at + 1), at * 20, 1)),
  ];
  const branches = Array.from({ length: 500 }, (_, at) => branch(at + 1, 20 * (at + 1)));
  const startedMs = performance.now();
  const { rows } = layOut({ nodes, branches, turns: 10_000, more: false });
  expect(rows).toHaveLength(501);
  expect(performance.now() - startedMs).toBeLessThan(2000);
});
