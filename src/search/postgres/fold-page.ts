import type { IndexChange, IndexedText } from '../contract/search-index.ts';

/** The sum of a list of changes. Its fields are carried out in this order. */
export interface FoldedPage {
  /** Threads whose documents all go, with their forks. */
  readonly cleared: readonly string[];
  /** Documents that go, or are about to come again. */
  readonly removed: readonly { readonly thread: string; readonly ref: string }[];
  readonly put: readonly IndexedText[];
  readonly forks: readonly {
    readonly thread: string;
    readonly parent: string;
    readonly depth: number;
  }[];
}

export function foldPage(changes: readonly IndexChange[]): FoldedPage {
  const cleared = new Set<string>();
  const documents = new Map<
    string,
    IndexedText | { readonly thread: string; readonly ref: string }
  >();
  const forks = new Map<string, FoldedPage['forks'][number]>();
  for (const change of changes) {
    if ('put' in change) {
      const { thread, ref } = change.put;
      documents.set(JSON.stringify([thread, ref]), change.put);
    } else if ('remove' in change) {
      const { thread, ref } = change.remove;
      documents.set(JSON.stringify([thread, ref]), { thread, ref });
    } else if ('fork' in change) {
      forks.set(change.fork.thread, change.fork);
    } else {
      cleared.add(change.removeThread);
      forks.delete(change.removeThread);
      for (const [key, { thread }] of documents) {
        if (thread === change.removeThread) documents.delete(key);
      }
    }
  }
  const all = [...documents.values()];
  return {
    cleared: [...cleared],
    removed: all.map(({ thread, ref }) => ({ thread, ref })),
    put: all.filter((one) => 'texts' in one),
    forks: [...forks.values()],
  };
}
