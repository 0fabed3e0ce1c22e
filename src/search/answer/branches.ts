import type { TextDocument, TextSource } from '../../engine/texts.ts';
import type { SearchIndex } from '../contract/search-index.ts';

const BRANCHES_MAX = 20;
/** Forks that are looked at for one hit. */
const LOOKED_MAX = 200;

export interface Branches {
  readonly branches: readonly string[];
  readonly more: boolean;
}

/**
 * The threads that show a document: the one it was written to, and forks of it from there on. Most threads have no
 * forks, and the index need not be asked for them.
 */
export async function findBranches(
  index: SearchIndex,
  source: TextSource,
  { document, isForked }: { readonly document: TextDocument; readonly isForked: boolean },
): Promise<Branches> {
  const branches: string[] = [];
  const pending = isForked ? [{ thread: document.thread, from: document.depth }] : [];
  let looked = 0;
  if (await source.shows(document.thread, document)) branches.push(document.thread);
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const { thread, depth } of await index.forksOf(source.kind, next.thread)) {
      if (depth < next.from) continue;
      looked += 1;
      if (branches.length >= BRANCHES_MAX || looked > LOOKED_MAX) return { branches, more: true };
      if (await source.shows(thread, document)) branches.push(thread);
      pending.push({ thread, from: 0 });
    }
  }
  return { branches, more: false };
}

const LINEAGE_MAX = 1000;

/** A thread with those that it was forked from, one after the other. */
export async function findLineage(
  index: SearchIndex,
  source: string,
  thread: string,
): Promise<string[]> {
  const lineage = [thread];
  for (let at = thread; lineage.length < LINEAGE_MAX;) {
    const parent = await index.parentOf(source, at);
    if (parent === undefined || lineage.includes(parent.thread)) break;
    lineage.push(parent.thread);
    at = parent.thread;
  }
  return lineage;
}
