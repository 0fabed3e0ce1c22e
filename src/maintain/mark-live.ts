import type { Hash, TurnId } from '../base/brand.ts';
import type { Progress } from '../engine/engine.ts';
import type { Root } from '../engine/roots.ts';
import type { Collection } from '../engine/upkeep.ts';
import type { Marks, Naming } from './marks.ts';

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
