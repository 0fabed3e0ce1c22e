import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { TurnId, ContextId } from '../../base/brand.ts';
import type { ContextRow, TurnRow } from '../../engine/rows.ts';
import { toContextId } from '../../base/brand.ts';
import { orNothing } from '../../base/errors.ts';
import { OneAtATime } from '../../base/one-at-a-time.ts';
import type { Change } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';

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

// Which contexts lead into the same tree of turns. From the first question on, the heads of all contexts are read, the
// newest contexts first, and kept current by what commits tell. A caller waits a second at most: a store with very many
// contexts answers with those read so far, and says that there may be more. It takes about 100 bytes for each context.
// Invariant: reading on and catching up take turns, so the root that is kept is never older than one that was put.

export interface Family {
  /** The contexts of the tree, the one that was asked for included. Empty for an empty context. */
  readonly contexts: readonly ContextId[];
  /** False while contexts of the store are still being read. */
  readonly isWhole: boolean;
}

const WAIT_MS = 1000;
const CHUNK = 500;
const NOTHING = 0n as TurnId;

export class Families {
  readonly #engine: Engine;
  /** The root of the tree that a context leads into. */
  readonly #roots = new Map<ContextId, TurnId>();
  readonly #members = new Map<TurnId, Set<ContextId>>();
  /** Contexts whose head moved since their root was found. */
  readonly #moved = new Set<ContextId>();
  readonly #inTurn = new OneAtATime<'read'>();
  /** Contexts with ids up to this one were not read yet. */
  #left = 0n;
  #reading: Promise<void> | undefined;
  #isWhole = false;
  #isClosed = false;
  #stop: (() => void) | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async of(context: ContextId, waitMs: number = WAIT_MS): Promise<Family> {
    this.#reading ??= this.#readAll();
    if (waitMs > 0) await settledWithin(this.#reading, waitMs);
    else this.#reading.catch(() => undefined);
    return this.#inTurn.run('read', async () => {
      await this.#catchUp();
      // The asked one and the one that its tree began in are there at once.
      const root = await this.#rootOf(context);
      this.#put(context, root);
      const owner = root && (await this.#engine.getTurn(root))?.context;
      if (owner !== undefined) this.#put(owner, await this.#rootOf(owner));
      const members = root === undefined ? [] : (this.#members.get(root) ?? []);
      return { contexts: [...members], isWhole: this.#isWhole };
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#stop?.();
  }

  async #readAll(): Promise<void> {
    this.#stop ??= this.#engine.subscribe(
      (change) => this.#note(change),
      // Changes were missed: everything is read anew.
      () => (this.#reading = undefined),
    );
    this.#isWhole = false;
    try {
      this.#left = (await this.#engine.tips()).context;
      while (this.#left > 0n && !this.#isClosed) {
        await this.#inTurn.run('read', () => this.#readSome());
        // Reads from memory leave no room for others.
        await setImmediate();
      }
      this.#isWhole = this.#left === 0n;
    } catch (error) {
      this.#reading = undefined;
      throw error;
    }
  }

  async #readSome(): Promise<void> {
    for (let n = 0; n < CHUNK && this.#left > 0n; n += 1) {
      const id = toContextId(this.#left);
      this.#put(id, await this.#rootOf(id));
      this.#left -= 1n;
    }
  }

  #note({ heads, removedContexts }: Change): void {
    for (const { id } of heads) this.#moved.add(id);
    for (const id of removedContexts) this.#moved.add(id);
  }

  async #catchUp(): Promise<void> {
    const moved = Array.from(this.#moved);
    for (const [n, id] of moved.entries()) {
      if (n % CHUNK === CHUNK - 1) await setImmediate();
      this.#moved.delete(id);
      this.#put(id, await this.#rootOf(id));
    }
  }

  /** A damaged record costs one context its family, and not everybody. */
  #rootOf(id: ContextId): Promise<TurnId | undefined> {
    return orNothing(async () => {
      const head = (await this.#engine.getHead(id))?.head ?? NOTHING;
      return head === NOTHING ? undefined : (await this.#engine.ancestorAt(head, 0))?.id;
    }, 'CORRUPT');
  }

  #put(id: ContextId, root: TurnId | undefined): void {
    const old = this.#roots.get(id);
    if (old === root) return;
    if (old !== undefined) this.#members.get(old)?.delete(id);
    if (root === undefined) {
      this.#roots.delete(id);
      return;
    }
    this.#roots.set(id, root);
    const members = this.#members.get(root) ?? new Set();
    this.#members.set(root, members.add(id));
  }
}

/** Waits until the task has settled, or for this long. Throws if the task fails meanwhile. */
async function settledWithin(task: Promise<void>, ms: number): Promise<void> {
  const waited = new AbortController();
  const { signal } = waited;
  try {
    await Promise.race([task, sleep(ms, undefined, { signal })]);
  } finally {
    waited.abort();
  }
}
