import type { Hash } from '../base/brand.ts';
import type { Progress } from '../engine/engine.ts';
import type { Root } from '../engine/roots.ts';
import type { Collection } from '../engine/upkeep.ts';
import type { Marks } from './marks.ts';

/** What the mark needs to see of a store. */
export interface MarkView extends Pick<
  Collection,
  'firstNewTurn' | 'turns' | 'patches' | 'blobs' | 'chunksOf'
> {
  /** What a node refers to; nothing for bytes that are no node. */
  refsOf(hash: Hash): Promise<readonly Hash[]>;
}

/**
 * Finds everything that the roots need and puts it into `marks`. Deletes nothing and reads no payload:
 * one pass over the turns, newest first, is enough, because a parent is always older than its child.
 */
export async function markLive(
  view: MarkView,
  roots: AsyncIterable<Root>,
  marks: Marks,
  progress: Progress = () => undefined,
): Promise<void> {
  marks.firstNewTurn = Number(view.firstNewTurn);
  let count = 0;
  for await (const root of roots) {
    if ('node' in root) await followNode(view, root.node, marks);
    else marks.addLate(root);
    progress((count += 1), 0, 'finding what is in use');
  }

  const last = marks.firstNewTurn - 1;
  for await (const page of view.turns()) {
    for (const edge of page) marks.visitTurn(edge);
    progress(last - Number(page.at(-1)?.id ?? 0), last, 'marking turns');
  }
  marks.endTurns();
  for await (const page of view.patches()) for (const edge of page) marks.visitPatch(edge);

  // Last, so that every list that is alive is known to be.
  for await (const page of view.blobs()) {
    for (const { hash, chunked, old } of page) {
      if (chunked) marks.visitChunks(hash, await view.chunksOf(hash), !old);
    }
  }
}

async function followNode(view: MarkView, root: Hash, marks: Marks): Promise<void> {
  const pending = marks.addNode(root) ? [root] : [];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    for (const ref of await view.refsOf(node)) if (marks.addNode(ref)) pending.push(ref);
  }
}
