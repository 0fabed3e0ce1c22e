import { describe, expect, it } from 'vitest';
import type { Store } from '../../store/store.ts';
import { findBlob, findStep } from './short-hash.ts';

/** A thread with these steps, oldest first, that counts the pages it gives. */
function threadOf(steps: readonly string[]): { store: Store; pages: () => number } {
  let pages = 0;
  const workflows = {
    async steps(_: string, { limit, before }: { limit: number; before?: string }) {
      pages += 1;
      const end = before === undefined ? steps.length : steps.indexOf(before);
      const page = steps.slice(Math.max(0, end - limit), end).map((hash) => ({ hash }));
      return { steps: page, ...(end > limit && { cursor: page[0]?.hash }) };
    },
  };
  return { store: { workflows } as unknown as Store, pages: () => pages };
}

const hashOf = (n: number): string => n.toString(16).padStart(12, '0').padEnd(64, 'f');

describe('the beginning of a hash', () => {
  it('stands for the step that alone begins so', async () => {
    const { store, pages } = threadOf(Array.from({ length: 2500 }, (_, n) => hashOf(n)));
    expect(await findStep(store, 't', hashOf(7).slice(0, 12))).toBe(hashOf(7));
    expect(pages()).toBe(3);
    expect(await findStep(store, 't', hashOf(7))).toBe(hashOf(7));
    expect(await findStep(store, 't', 'coder')).toBe('coder');
    expect(pages()).toBe(3);
  });

  it('of a blob has six digits or more', async () => {
    const { store } = threadOf([]);
    await expect(findBlob(store, '98')).rejects.toThrow('at least 6 digits');
    expect(await findBlob(store, 'blob:sha256:98')).toBe('blob:sha256:98');
  });

  it('is refused with all that it fits', async () => {
    const { store } = threadOf([hashOf(1), hashOf(2)]);
    await expect(findStep(store, 't', '00000000')).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining(`\n  ${hashOf(1)}\n  ${hashOf(2)}`) as string,
    });
    const many = threadOf(Array.from({ length: 1000 }, (_, n) => hashOf(n)));
    await expect(findStep(many.store, 't', '00000000')).rejects.toThrow('…');
  });

  it('is looked up at a bounded cost', async () => {
    const { store, pages } = threadOf(Array.from({ length: 30_000 }, (_, n) => hashOf(n)));
    expect(await findStep(store, 't', 'abcdef')).toBe('abcdef');
    expect(pages()).toBe(10);
  });
});
