import { describe, expect, it } from 'vitest';
import type { IndexChange, IndexedText } from '../contract/search-index.ts';
import { foldPage } from './write-page.ts';

function text(thread: string, ref: string, said: string): IndexedText {
  const about = { kind: 'chat', type: 'message', depth: 1, at: 0, tools: [] };
  return { ...about, thread, ref, texts: [said] };
}

function fold(...changes: IndexChange[]): Record<string, unknown> {
  const { cleared, removed, put, forks } = foldPage(changes);
  return {
    cleared,
    removed: removed.map(({ thread, ref }) => `${thread} ${ref}`),
    put: put.map(({ thread, ref, texts }) => `${thread} ${ref} ${texts.join()}`),
    forks: forks.map((fork) => fork.thread),
  };
}

describe('foldPage', () => {
  it('keeps the last text of a document', () => {
    expect(fold({ put: text('a', '1', 'x') }, { put: text('a', '1', 'y') })).toEqual({
      cleared: [],
      removed: ['a 1'],
      put: ['a 1 y'],
      forks: [],
    });
  });

  it('takes out what was removed after it came, and the other way round', () => {
    const remove = { thread: 'a', ref: '1' };
    expect(fold({ put: text('a', '1', 'x') }, { remove })['put']).toEqual([]);
    expect(fold({ remove }, { put: text('a', '1', 'x') })['put']).toEqual(['a 1 x']);
  });

  it('clears a thread of what came before and not of what came after', () => {
    const fork = { thread: 'a', parent: 'b', depth: 2 };
    const made = fold(
      { put: text('a', '1', 'x') },
      { put: text('b', '1', 'x') },
      { fork },
      { removeThread: 'a' },
      { put: text('a', '2', 'y') },
    );
    expect(made).toEqual({
      cleared: ['a'],
      removed: ['b 1', 'a 2'],
      put: ['b 1 x', 'a 2 y'],
      forks: [],
    });
  });
});
