import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { LruCache } from './lru-cache.ts';

describe('LruCache', () => {
  it('drops what was not used for longest', () => {
    const cache = new LruCache<string, string>(3, (value) => value.length);
    cache.set('a', 'x');
    cache.set('b', 'x');
    cache.set('c', 'x');
    expect(cache.get('a')).toBe('x');
    cache.set('d', 'x');
    expect(cache.get('b')).toBeUndefined();
    expect(['a', 'c', 'd'].map((key) => cache.get(key))).toEqual(['x', 'x', 'x']);
  });

  it('does not keep a value larger than itself, nor the one before it', () => {
    const cache = new LruCache<string, string>(3, (value) => value.length);
    cache.set('a', 'x');
    cache.set('b', 'x');
    cache.set('a', 'xxxx');
    expect(cache.get('a')).toBeUndefined();
    expect(cache.get('b')).toBe('x');
    expect(cache.bytes).toBe(1);
  });

  it('forgets on delete and clear', () => {
    const cache = new LruCache<string, string>(9, (value) => value.length);
    cache.set('a', 'xx');
    cache.set('b', 'xxx');
    cache.delete('a');
    cache.delete('a');
    expect([cache.get('a'), cache.bytes]).toEqual([undefined, 3]);
    cache.clear();
    expect([cache.get('b'), cache.bytes]).toEqual([undefined, 0]);
  });

  it('does what a plain list with second rounds does', () => {
    const key = fc.constantFrom(undefined, 'a', 'b', 'c', 'd');
    const step = fc.tuple(key, fc.option(fc.integer({ min: 1, max: 6 })));
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const cache = new LruCache<string | undefined, number>(8, (value) => value);
        let list: { key: string | undefined; value: number; used: boolean }[] = [];
        for (const [at, value] of steps) {
          if (value !== null) {
            list = list.filter((entry) => entry.key !== at);
            while (sum(list) + value > 8) {
              const [oldest] = list.splice(0, 1);
              if (oldest?.used === true) list.push({ ...oldest, used: false });
            }
            list.push({ key: at, value, used: false });
            cache.set(at, value);
          }
          const hit = list.find((entry) => entry.key === at);
          if (hit !== undefined) hit.used = true;
          expect(cache.get(at)).toBe(hit?.value);
          expect(cache.bytes).toBe(sum(list));
        }
      }),
    );
  });
});

function sum(list: readonly { value: number }[]): number {
  return list.reduce((total, entry) => total + entry.value, 0);
}
