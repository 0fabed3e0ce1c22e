import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NO_TURN, toTurnId, type Hash, type TurnId } from '../base/brand.ts';
import { hashBytes } from '../base/hash.ts';
import type { Root } from '../engine/roots.ts';
import { followLate, markLive, Marks } from './mark-live.ts';

// Graphs as literals: turn n has parent, payload and patches by name; lists, nodes and trees name their
// parts.

interface Graph {
  /** Turn 1 first: [parent, payload]. */
  readonly turns: readonly (readonly [number, string])[];
  readonly patches?: readonly (readonly [number, string])[];
  /** File-system roots: [turn, tree]. */
  readonly roots?: readonly (readonly [number, string])[];
  readonly trees?: Readonly<Record<string, readonly string[]>>;
  /** Shown to no scan. */
  readonly openTurns?: readonly number[];
  readonly lists?: Readonly<Record<string, readonly string[]>>;
  readonly nodes?: Readonly<Record<string, readonly string[]>>;
  /** Lists and blobs that the grace period protects. */
  readonly young?: readonly string[];
}

type At = 'roots' | 'turns' | 'patches' | 'blobs' | 'chunks' | 'reading';

const nameOf = (name: string): Hash => hashBytes(new TextEncoder().encode(name));
const turn = (n: number): TurnId => (n === 0 ? NO_TURN : toTurnId(n));

interface Marked {
  readonly marks: Marks;
  readonly settle: () => Promise<void>;
  readonly live: (names: string) => string;
  readonly turns: () => number[];
}

/** Marks `graph` from `roots`; `meanwhile` is called in the middle of each stage. */
async function mark(
  graph: Graph,
  roots: readonly Root[],
  meanwhile: (at: At, marks: Marks) => void = () => undefined,
): Promise<Marked> {
  const marks = new Marks();
  const { lists = {}, nodes = {}, trees = {}, roots: fsRoots = [], young = [] } = graph;
  const known = Object.keys({ ...lists, ...nodes, ...trees });
  const names = new Map(known.map((name) => [nameOf(name), name]));
  async function* named(
    parts: Readonly<Record<string, readonly string[]>>,
    hash: Hash,
  ): AsyncGenerator<Hash> {
    meanwhile('reading', marks);
    yield* (parts[names.get(hash) ?? ''] ?? []).map(nameOf);
  }
  const open = (graph.openTurns ?? []).map(turn);
  const edges = graph.turns.map(([parent, payload], index) => ({
    id: turn(index + 1),
    parent: turn(parent),
    payload: nameOf(payload),
  }));
  async function* paged<T>(at: At, items: readonly T[]): AsyncGenerator<readonly T[]> {
    const half = Math.ceil(items.length / 2);
    yield items.slice(0, half);
    meanwhile(at, marks);
    yield items.slice(half);
  }
  const toEdge =
    (fsRoot: boolean) =>
    ([on, name]: readonly [number, string]) => ({ turn: turn(on), payload: nameOf(name), fsRoot });
  const patches = [...fsRoots.map(toEdge(true)), ...(graph.patches ?? []).map(toEdge(false))];
  const blobs = Object.keys(lists).map((name) => ({
    hash: nameOf(name),
    size: 1,
    storedBytes: 1,
    old: !young.includes(name),
    chunked: true,
  }));
  const view = {
    firstNewTurn: turn(edges.length + 1),
    turns: () =>
      paged(
        'turns',
        edges.toReversed().filter(({ id }) => !open.includes(id)),
      ),
    patches: () => paged('patches', patches),
    blobs: () => paged('blobs', blobs),
    chunksOf: async (hash: Hash) => {
      meanwhile('chunks', marks);
      return (lists[names.get(hash) ?? ''] ?? []).map(nameOf);
    },
    openTurns: open,
    refsOf: (hash: Hash) => named(nodes, hash),
    namesIn: (hash: Hash) => named(trees, hash),
    fsRootOf: async (of: TurnId) => {
      const root = fsRoots.find(([on]) => turn(on) === of);
      return root && nameOf(root[1]);
    },
  };
  async function* given(): AsyncGenerator<Root> {
    yield* roots;
    meanwhile('roots', marks);
  }
  await markLive(view, given(), marks);
  return {
    marks,
    settle: () => followLate(view, marks),
    live: (asked) =>
      asked
        .split(' ')
        .filter((name) => marks.isLive(nameOf(name)))
        .join(' '),
    turns: () => graph.turns.flatMap((_, at) => (marks.isLiveTurn(turn(at + 1)) ? [at + 1] : [])),
  };
}

/** 1 - 2 - 3, and 4 - 5 beside it on 1. */
const FORKED: Graph = {
  turns: [
    [0, 'a'],
    [1, 'b'],
    [2, 'c'],
    [1, 'd'],
    [4, 'e'],
  ],
  patches: [
    [2, 'b2'],
    [5, 'e2'],
    [1, 'a2'],
  ],
};

describe('markLive', () => {
  it('follows parents and patches, and leaves other branches', async () => {
    const { live, turns } = await mark(FORKED, [{ turn: turn(3) }]);
    expect(live('a a2 b b2 c d e e2 x')).toBe('a a2 b b2 c');
    expect(turns()).toEqual([1, 2, 3]);
  });

  it('marks nothing without roots, except turns that are new', async () => {
    const { marks, live, turns } = await mark(FORKED, []);
    expect(live('a b c d e a2')).toBe('');
    expect(turns()).toEqual([]);
    expect(marks.isLiveTurn(turn(6))).toBe(true);
  });

  it('keeps the chunks of lists that are alive or young', async () => {
    const lists = { a: ['p', 'q'], d: ['q', 'r'], e: ['s'] };
    const graph = { ...FORKED, lists, young: ['e'] };
    const { live } = await mark(graph, [{ turn: turn(3) }, { blob: nameOf('z') }]);
    expect(live('p q r s z')).toBe('p q s z');
  });

  it('follows nodes, also in a circle', async () => {
    const nodes = { n: ['m', 'leaf'], m: ['n', 'o'], o: [], far: ['leaf2'] };
    const { live } = await mark({ turns: [], nodes }, [{ node: nameOf('n') }]);
    expect(live('n m o leaf far leaf2')).toBe('n m o leaf');
  });

  it.each<At>(['roots', 'turns', 'patches', 'blobs', 'chunks'])(
    'brings a whole chain back when a commit relies on it during %s',
    async (during) => {
      const graph = { ...FORKED, lists: { b: ['p'], d: ['q'], e: ['r'], e2: ['s'] } };
      const { live, turns } = await mark(graph, [{ turn: turn(3) }], (at, marks) => {
        if (at === during) marks.reliance.turn(turn(5));
      });
      expect(live('a b c d e e2 q r s')).toBe('a b c d e e2 q r s');
      expect(turns()).toEqual([1, 2, 3, 4, 5]);
    },
  );

  it('brings back lists with their chunks after the mark, and turns that a root names late', async () => {
    const lists = { e: ['r'], x: ['y'] };
    const { marks, live, turns } = await mark({ ...FORKED, lists }, [{ turn: turn(2) }]);
    expect(live('c d e e2 r x y')).toBe('');
    marks.reliance.blob(nameOf('x'));
    expect(live('c d e e2 r x y')).toBe('x y');
    marks.add({ turn: turn(5) });
    expect(live('c d e e2 r x y')).toBe('d e e2 r x y');
    expect(turns()).toEqual([1, 2, 4, 5]);
  });

  it('reads a node that comes late before anything goes', async () => {
    const nodes = { n: ['m'], m: [], late: ['x'], x: ['y'] };
    const { marks, settle, live } = await mark({ turns: [], nodes }, [{ node: nameOf('n') }]);
    marks.add({ node: nameOf('m') });
    expect(marks.takeLate()).toBeUndefined();
    const before = marks.changes;
    marks.add({ node: nameOf('late') });
    await settle();
    expect(live('n m late x y z')).toBe('n m late x y');
    expect(marks.changes).toBe(before + 3);
  });

  it('keeps the trees of turns that are alive, and all that they name', async () => {
    const trees = { t: ['u', 'f', 't'], u: ['g'], v: ['h', 'g'], w: ['i'] };
    const roots = [[3, 't'] as const, [5, 'v'] as const, [6, 'w'] as const];
    const turns = [...FORKED.turns, [3, 'open'] as const];
    const graph = { ...FORKED, turns, trees, roots, openTurns: [6], lists: { g: ['chunk'] } };
    const { live } = await mark(graph, [{ turn: turn(3) }]);
    expect(live('t u f g chunk v h w i')).toBe('t u f g chunk w i');
    const named = await mark(graph, [{ tree: nameOf('v') }]);
    expect(named.live('t u f g v h w')).toBe('g v h w');
  });

  it.each<At>(['roots', 'turns', 'patches', 'blobs', 'chunks', 'reading'])(
    'brings the tree of a turn back when a commit relies on the turn during %s',
    async (during) => {
      const trees = { t: ['u'], u: ['f'], v: ['h'] };
      const roots = [[3, 't'] as const, [5, 'v'] as const];
      const graph = { ...FORKED, trees, roots, lists: { h: ['chunk'] } };
      const { live } = await mark(graph, [{ turn: turn(3) }], (at, marks) => {
        if (at === during) marks.reliance.turn(turn(5));
      });
      expect(live('t u f v h chunk')).toBe('t u f v h chunk');
    },
  );

  it('brings trees back after the mark, once what is late is read', async () => {
    const trees = { v: ['h'], late: ['x'] };
    const graph = { ...FORKED, trees, roots: [[4, 'v'] as const], lists: { x: ['y'] } };
    const { marks, settle, live } = await mark(graph, [{ turn: turn(3) }]);
    expect(live('v h late x y')).toBe('');
    marks.reliance.turn(turn(5));
    marks.add({ tree: nameOf('late') });
    await settle();
    expect(live('v h late x y')).toBe('v h late x y');
  });

  it('does not count what commits were noted to rely on as a change', async () => {
    const { marks } = await mark({ ...FORKED, lists: { e: ['r'] } }, [{ turn: turn(3) }]);
    const before = marks.changes;
    marks.reliance.blob(nameOf('d'));
    expect(marks.changes).toBe(before);
    marks.reliance.blob(nameOf('e'));
    expect(marks.changes).toBe(before + 1);
    marks.reliance.turn(turn(5));
    expect(marks.changes).toBe(before + 2);
  });

  it('agrees with a walk from each root, whenever the root is named', async () => {
    const stages: At[] = ['roots', 'turns', 'patches'];
    const parents = fc.array(fc.nat(1000), { minLength: 1, maxLength: 40 });
    const picks = fc.array(fc.tuple(fc.nat(1000), fc.constantFrom('first' as const, ...stages)), {
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(parents, picks, async (drawn, picked) => {
        const turns = drawn.map((n, at) => [n % (at + 1), `p${at + 1}`] as const);
        const expected = new Set<number>();
        const named = picked.map(([n, when]) => ({ id: (n % turns.length) + 1, when }));
        for (let { id } of named) for (; id !== 0; id = turns[id - 1]?.[0] ?? 0) expected.add(id);
        const first = named.filter(({ when }) => when === 'first');
        const found = await mark(
          { turns },
          first.map(({ id }) => ({ turn: turn(id) })),
          (at, marks) => {
            for (const { id, when } of named) if (when === at) marks.reliance.turn(turn(id));
          },
        );
        expect(found.turns()).toEqual([...expected].toSorted((a, b) => a - b));
        const names = turns.map(([, name]) => name).join(' ');
        const wanted = found.turns().map((id) => `p${id}`);
        expect(found.live(names)).toBe(wanted.join(' '));
      }),
    );
  });
});
