import { describe, expect, it } from 'vitest';
import { checkDetails, mergeDetails } from './check-input.ts';
import type { ContextDetails } from './contexts.ts';

describe('checkDetails', () => {
  it('keeps what is said, and nothing of what is not', () => {
    expect(checkDetails({})).toEqual({});
    expect(checkDetails({ title: 'a', labels: ['x', 'y', 'x'], meta: { b: 1 } })).toEqual({
      title: 'a',
      labels: ['x', 'y'],
      meta: { b: 1 },
    });
  });

  it('no longer shares with the caller', () => {
    const meta = { list: [1] };
    const checked = checkDetails({ meta });
    meta.list.push(2);
    expect(checked.meta).toEqual({ list: [1] });
  });

  it.each<[string, string, ContextDetails]>([
    ['title', 'INVALID', { title: 'x'.repeat(1025) }],
    ['title', 'INVALID', { title: 'two\nlines' }],
    ['title', 'INVALID', { title: 5 as unknown as string }],
    ['kind', 'INVALID', { kind: 'x'.repeat(129) }],
    ['labels', 'INVALID', { labels: Array.from({ length: 65 }, (_, n) => `l${n}`) }],
    ['labels', 'INVALID', { labels: ['x'.repeat(129)] }],
    ['labels', 'INVALID', { labels: [''] }],
    ['labels', 'INVALID', { labels: 'x' as unknown as string[] }],
    ['meta', 'INVALID', { meta: () => 1 }],
    ['meta', 'TOO_LARGE', { meta: 'x'.repeat(65_535) }],
  ])('refuses a bad %s with %s', (what, code, details) => {
    expect(() => checkDetails(details)).toThrow(
      expect.objectContaining({ code, data: expect.objectContaining({ what }) as unknown }),
    );
  });

  it('takes what is exactly at the limits', () => {
    const labels = Array.from({ length: 64 }, (_, n) => `${n}`.padStart(128, 'l'));
    const details = { title: 'x'.repeat(1024), labels, meta: 'x'.repeat(65_534) };
    expect(checkDetails(details)).toEqual(details);
  });
});

describe('mergeDetails', () => {
  it('replaces what is given, removes what is null and keeps the rest', () => {
    const now = { title: 'a', kind: 'k', labels: ['x'], meta: { n: 1 } };
    expect(mergeDetails(now, { title: 'b', labels: null })).toEqual({
      title: 'b',
      kind: 'k',
      meta: { n: 1 },
    });
    expect(mergeDetails(now, { title: null, kind: null, labels: null, meta: null })).toEqual({});
  });
});
