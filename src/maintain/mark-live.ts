import { BitSet } from '../base/bit-set.ts';
import type { Hash, TurnId } from '../base/brand.ts';
import type { Progress } from '../engine/engine.ts';
import type { Root } from '../engine/roots.ts';
import type { Collection, Reliance, PatchEdge, TurnEdge } from '../engine/upkeep.ts';
import { LiveSet, toPrefix, type Prefix } from './live-set.ts';

/** The parts of a store that the mark reads. */
export interface MarkView extends Pick<
  Collection,
  'firstNewTurn' | 'openTurns' | 'turns' | 'patches' | 'blobs' | 'chunksOf'
> {
  /** The blobs that a node refers to; nothing for bytes that are no node. */
  refsOf(hash: Hash): AsyncIterable<Hash>;
  /** The stored blobs that the bytes of a tree name. */
  namesIn(hash: Hash): AsyncIterable<Hash>;
  fsRootOf(turn: TurnId): Promise<Hash | undefined>;
}

/** After this many blobs the mark yields the JavaScript thread to other work. */
const BLOBS_AT_ONCE = 100;

/**
 * Finds everything that the roots need and puts it into `marks`. Deletes nothing, and reads no payload except nodes and
 * trees. One pass over the turns, newest first, is enough, because a parent is always older than its child.
 */
export async function markLive(
  view: MarkView,
  roots: AsyncIterable<Root>,
  marks: Marks,
  progress: Progress = () => undefined,
): Promise<void> {
  marks.firstNewTurn = Number(view.firstNewTurn);
  for (const turn of view.openTurns) marks.add({ turn });
  let count = 0;
  for await (const root of roots) {
    marks.add(root);
    await followLate(view, marks);
    progress((count += 1), 0, 'finding what is in use');
  }

  const last = marks.firstNewTurn - 1;
  for await (const page of view.turns()) {
    for (const edge of page) marks.visitTurn(edge);
    progress(last - Number(page.at(-1)?.id ?? 0), last, 'marking turns');
  }
  marks.endTurns();
  for await (const page of view.patches()) {
    for (const edge of page) marks.visitPatch(edge);
    await followLate(view, marks);
  }

  // Chunk lists come last, because by then every live list is known to be alive.
  for await (const page of view.blobs()) {
    for (const { hash, chunked, old } of page) {
      if (chunked) marks.visitChunks(hash, await view.chunksOf(hash), !old);
    }
  }
  await followLate(view, marks);
}

/**
 * Reads the nodes and trees that wait to be read. After it, and until the next commit, `marks` knows all that is alive.
 */
export async function followLate(view: MarkView, marks: Marks): Promise<void> {
  for (let naming = marks.takeLate(); naming !== undefined; naming = marks.takeLate()) {
    await follow(view, naming, marks);
  }
}

async function follow(view: MarkView, naming: Naming, marks: Marks): Promise<void> {
  const isNode = 'node' in naming;
  const first = isNode ? naming.node : await treeOf(view, naming);
  const add = (hash: Hash): boolean => (isNode ? marks.addNode(hash) : marks.addTree(hash));
  const named = (hash: Hash): AsyncIterable<Hash> =>
    isNode ? view.refsOf(hash) : view.namesIn(hash);
  const pending = first !== undefined && add(first) ? [first] : [];
  let count = 0;
  for (let hash = pending.pop(); hash !== undefined; hash = pending.pop()) {
    for await (const other of named(hash)) if (add(other)) pending.push(other);
    count += 1;
    if (count % BLOBS_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

async function treeOf(
  view: MarkView,
  naming: Exclude<Naming, { node: Hash }>,
): Promise<Hash | undefined> {
  return 'tree' in naming ? naming.tree : view.fsRootOf(naming.fsRootOf);
}

// The blobs and turns that are known to be alive. The mark adds to them, and so do the commits that come meanwhile.
// Invariants
// - A live thing stays alive: nothing is ever taken back.
// - When a turn that the scan has passed becomes alive, its payload, its patches, their chunks and its whole chain do
//   too, within the same call. To allow that, the facts that this takes are remembered of dead turns, patches and chunk
//   lists.
// - A turn that the scan has not reached yet is only marked: the scan does the rest.
// - Only reading a node or a tree tells which blobs it names, so nodes and trees to read wait in `takeLate`. Nothing
//   may be removed while something waits there.

/** A live thing that must be read, because it names others. */
type Naming =
  | { readonly node: Hash }
  | { readonly tree: Hash }
  /** The tree that is the file-system root of a turn. */
  | { readonly fsRootOf: TurnId };

export class Marks {
  /** Turns from here on were appended after the collection began. */
  firstNewTurn: number = Infinity;
  /** Rises when a blob becomes alive that no commit was noted to rely on: another live thing brought it along. */
  changes = 0;
  readonly #live = new LiveSet();
  readonly #turns = new BitSet();
  readonly #nodes = new LiveSet();
  readonly #trees = new LiveSet();
  readonly #spareTurns = new SpareTurns();
  readonly #sparePatches = new Map<number, Prefix[]>();
  /** Dead turns with a file-system root. */
  readonly #spareRoots = new BitSet();
  readonly #spareChunks = new Map<string, readonly Hash[]>();
  readonly #late: Naming[] = [];
  #scannedDownTo = Infinity;

  /** The listeners of a collection: they note what commits rely on. */
  readonly reliance: Reliance = {
    blob: (hash) => {
      const prefix = toPrefix(hash);
      if (this.#live.addPrefix(prefix)) this.#addChunks(prefix);
    },
    turn: (turn) => this.#addTurn(Number(turn)),
  };

  isLive(hash: Hash): boolean {
    return this.#live.has(hash);
  }

  isLiveTurn(turn: TurnId): boolean {
    const number = Number(turn);
    return number >= this.firstNewTurn || this.#turns.has(number);
  }

  /** Adds a root, or one that a commit made after the mark began. */
  add(root: Root): void {
    if ('turn' in root) this.reliance.turn(root.turn);
    // This root may be the only one that names the blob, so a check that took the blob for dead must run again.
    else if ('blob' in root) this.#addPrefix(toPrefix(root.blob));
    else if ('node' in root ? !this.#nodes.has(root.node) : !this.#trees.has(root.tree)) {
      this.#late.push(root);
    }
  }

  /** A node or tree that must be read before anything is removed, if there is one. */
  takeLate(): Naming | undefined {
    return this.#late.pop();
  }

  /** True the first time; then the caller must add the blobs that the node refers to. */
  addNode(hash: Hash): boolean {
    this.#addPrefix(toPrefix(hash));
    return this.#nodes.add(hash);
  }

  /** True the first time; then the caller must add the blobs that the tree names. */
  addTree(hash: Hash): boolean {
    this.#addPrefix(toPrefix(hash));
    return this.#trees.add(hash);
  }

  /** Call for every turn, newest first, once all roots are in. */
  visitTurn({ id, parent, payload }: TurnEdge): void {
    const turn = Number(id);
    const prefix = toPrefix(payload);
    this.#scannedDownTo = turn;
    if (!this.#turns.has(turn)) {
      this.#spareTurns.add(turn, Number(parent), prefix);
      return;
    }
    this.#addPrefix(prefix);
    this.#turns.add(Number(parent));
  }

  endTurns(): void {
    this.#scannedDownTo = 0;
  }

  visitPatch({ turn, payload, fsRoot }: PatchEdge): void {
    const isLive = this.isLiveTurn(turn);
    if (fsRoot) {
      if (isLive) this.add({ tree: payload });
      else this.#spareRoots.add(Number(turn));
      return;
    }
    const prefix = toPrefix(payload);
    if (isLive) {
      this.#addPrefix(prefix);
      return;
    }
    const others = this.#sparePatches.get(Number(turn));
    if (others === undefined) this.#sparePatches.set(Number(turn), [prefix]);
    else others.push(prefix);
  }

  /** `stays`: the list stays whether or not it is alive, and so must its chunks. */
  visitChunks(list: Hash, chunks: readonly Hash[], stays: boolean): void {
    if (stays || this.isLive(list)) for (const chunk of chunks) this.reliance.blob(chunk);
    else this.#spareChunks.set(toKey(toPrefix(list)), chunks);
  }

  #addTurn(from: number): void {
    let turn = from;
    while (turn !== 0 && turn < this.firstNewTurn && !this.#turns.has(turn)) {
      this.#turns.add(turn);
      if (this.#spareRoots.has(turn)) this.#late.push({ fsRootOf: BigInt(turn) as TurnId });
      const spare = turn < this.#scannedDownTo ? undefined : this.#spareTurns.find(turn);
      if (spare === undefined) return;
      this.#addPrefix(spare.payload);
      for (const payload of this.#sparePatches.get(turn) ?? []) this.#addPrefix(payload);
      turn = spare.parent;
    }
  }

  #addPrefix(prefix: Prefix): void {
    if (!this.#live.addPrefix(prefix)) return;
    this.changes += 1;
    this.#addChunks(prefix);
  }

  #addChunks(list: Prefix): void {
    if (this.#spareChunks.size === 0) return;
    for (const chunk of this.#spareChunks.get(toKey(list)) ?? []) {
      if (this.#live.add(chunk)) this.changes += 1;
    }
  }
}

function toKey({ high, low }: Prefix): string {
  return `${high} ${low}`;
}

/** A turn that nothing was found to need, with the facts that bringing it back to life takes. */
interface SpareTurn {
  readonly parent: number;
  readonly payload: Prefix;
}

const PAGE_ROWS = 16_384;
const WORDS = 4;

/** Turns by falling number, 16 bytes each, in pages, so that growing copies nothing. */
class SpareTurns {
  readonly #pages: Uint32Array[] = [];
  #count = 0;

  /** Numbers must fall from call to call. */
  add(turn: number, parent: number, payload: Prefix): void {
    const row = this.#count % PAGE_ROWS;
    if (row === 0) this.#pages.push(new Uint32Array(PAGE_ROWS * WORDS));
    this.#pages.at(-1)?.set([turn, parent, payload.high, payload.low], row * WORDS);
    this.#count += 1;
  }

  find(turn: number): SpareTurn | undefined {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#word(middle, 0) > turn) low = middle + 1;
      else high = middle;
    }
    if (low === this.#count || this.#word(low, 0) !== turn) return undefined;
    const payload = { high: this.#word(low, 2), low: this.#word(low, 3) };
    return { parent: this.#word(low, 1), payload };
  }

  #word(row: number, word: number): number {
    const page = this.#pages[Math.floor(row / PAGE_ROWS)];
    return page?.[(row % PAGE_ROWS) * WORDS + word] ?? 0;
  }
}
