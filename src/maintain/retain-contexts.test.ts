import { describe, expect, it } from 'vitest';
import { toContextId } from '../base/brand.ts';
import {
  byClaim,
  planRetention,
  type Retainable,
  type RetentionPolicy,
} from './retain-contexts.ts';

const DAY = 86_400_000;
const NOW = 1000 * DAY;

/** Context `id`, last used so many days ago. */
function context(id: number, days: number, given: Partial<Retainable> = {}): Retainable {
  const base = { labels: [], pinned: false, bytes: 0 };
  return { id: toContextId(id), updatedAt: NOW - days * DAY, ...base, ...given };
}

function removed(contexts: readonly Retainable[], policy: RetentionPolicy): string {
  const { remove, keep } = planRetention(contexts.toSorted(byClaim), policy, NOW);
  expect(new Set([...remove, ...keep]).size).toBe(remove.length + keep.length);
  return remove.map(({ id }) => id).join(' ');
}

describe('planRetention', () => {
  it('removes what is older than the limit, and not what is as old as it', () => {
    const contexts = [context(1, 0), context(2, 90), context(3, 91), context(4, 900)];
    expect(removed(contexts, { maxAgeMs: 90 * DAY })).toBe('3 4');
    expect(removed(contexts, {})).toBe('');
  });

  it('keeps the newest that fit, and nothing older than one that did not', () => {
    const sized = (id: number, bytes: number): Retainable => context(id, id, { bytes });
    const contexts = [sized(1, 40), sized(2, 40), sized(3, 40), sized(4, 1)];
    expect(removed(contexts, { maxBytes: 121 })).toBe('');
    expect(removed(contexts, { maxBytes: 100 })).toBe('3 4');
    expect(removed(contexts, { maxBytes: 0 })).toBe('1 2 3 4');
  });

  it('never removes pinned ones, and counts what they take first', () => {
    const contexts = [
      context(1, 1, { bytes: 10 }),
      context(2, 500, { bytes: 95, pinned: true }),
      context(3, 2, { bytes: 1 }),
    ];
    expect(removed(contexts, { maxBytes: 100 })).toBe('1 3');
    expect(removed(contexts, { maxBytes: 105 })).toBe('3');
    expect(removed(contexts, { maxAgeMs: DAY })).toBe('3');
  });

  it('looks at one label only, and keeps the newest when told', () => {
    const labels = ['run'];
    const contexts = [context(1, 10, { labels }), context(2, 20), context(3, 30, { labels })];
    expect(removed(contexts, { maxAgeMs: DAY, label: 'run' })).toBe('1 3');
    expect(removed(contexts, { maxAgeMs: DAY, label: 'run', keep: 1 })).toBe('3');
    expect(removed(contexts, { maxAgeMs: DAY, label: 'other' })).toBe('');
  });
});
