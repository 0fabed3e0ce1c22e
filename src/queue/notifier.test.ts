import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { quoteForShell, toSlug } from './notifier.ts';

const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex').slice(0, 6);

const pathOf = (...names: string[]): string => `/${names.join('/')}`;

describe('toSlug', () => {
  it('has hyphens for what is no letter or digit, and none in front', () => {
    expect(toSlug(pathOf('home', 'user', 'my-project', 'thread'))).toBe(
      'home-user-my-project-thread',
    );
  });

  it('cuts what is long, and tells it from its neighbours by a digest', () => {
    const path = pathOf('home', 'user', 'some', 'very', 'long', 'place', 'for', 'a', 'thread');
    expect(toSlug(path)).toBe(`home-user-some-very-long-place-f-${sha1(path)}`);
    const forty = `/${'a'.repeat(40)}`;
    expect(toSlug(forty)).toBe('a'.repeat(40));
    expect(toSlug(`${forty}a`)).toBe(`${'a'.repeat(32)}-${sha1(`${forty}a`)}`);
  });

  it('tells paths in other scripts apart', () => {
    expect(toSlug('/数据/线程')).not.toBe(toSlug('/日志/线程'));
  });
});

describe('quoteForShell', () => {
  it('leaves plain paths as they are and protects the others', () => {
    expect(quoteForShell('/a/b-c.d')).toBe('/a/b-c.d');
    expect(quoteForShell("/a b/$(x)'y")).toBe(`'/a b/$(x)'\\''y'`);
  });
});
