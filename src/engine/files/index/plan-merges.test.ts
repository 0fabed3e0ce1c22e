import { describe, expect, it } from 'vitest';
import { FAN_IN, planMerges } from './run-set.ts';

function runs(count: number, entries: number, firstId = 0): { id: number; entries: number }[] {
  return Array.from({ length: count }, (_, i) => ({ id: firstId + i, entries }));
}

describe('planMerges', () => {
  it('leaves runs alone until enough of one size are there', () => {
    expect(planMerges(runs(FAN_IN - 1, 2048))).toEqual([]);
    expect(planMerges(runs(FAN_IN, 2048))).toEqual([runs(FAN_IN, 2048)]);
  });

  it('does not rewrite a large run because of small ones', () => {
    const large = runs(1, 1_000_000, 100);
    expect(planMerges([...large, ...runs(FAN_IN, 2048)])).toEqual([runs(FAN_IN, 2048)]);
  });

  it('plans each size for itself, the smallest first', () => {
    const large = runs(FAN_IN, 1_000_000, 100);
    const small = runs(FAN_IN, 1);
    expect(planMerges([...large, ...small])).toEqual([small, large]);
  });

  it('never makes a run that is too large to number its chunks', () => {
    expect(planMerges(runs(FAN_IN, 10_000_000))).toEqual([]);
  });

  it('keeps the number of runs small and rewrites each entry a few times', () => {
    let idle: { id: number; entries: number }[] = [];
    let written = 0;
    for (let id = 0; id < 3000; id++) {
      idle.push({ id, entries: 1000 });
      for (let groups = planMerges(idle); groups.length > 0; groups = planMerges(idle)) {
        const merged = groups.flat();
        const entries = merged.reduce((sum, run) => sum + run.entries, 0);
        written += entries;
        idle = idle.filter((run) => !merged.includes(run));
        idle.push(
          ...groups.map((group) => ({ id, entries: group.reduce((s, r) => s + r.entries, 0) })),
        );
      }
      expect(idle.length).toBeLessThan(30);
    }
    expect(written / 3_000_000).toBeLessThan(6);
  });
});
