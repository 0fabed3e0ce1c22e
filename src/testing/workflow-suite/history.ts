import { describe, expect, it, onTestFinished } from 'vitest';
import { toHash } from '../../base/brand.ts';
import type { Store } from '../../store/store.ts';
import type { ListThreads, Workflows } from '../../workflow/threads/workflows.ts';
import { failure } from '../engine-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { eachPage } from '../../base/pages.ts';
import { collect } from '../contexts-suite/fixture.ts';

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 10, 15, 20);
const BUNDLES = ['c', 'a', 'b'].map((digit) => toHash(digit.repeat(64)));

/** Lists finished threads in pages of `limit`. */
async function listAll(workflows: Workflows, query: ListThreads, limit: number): Promise<string[]> {
  const given = { state: 'completed', ...query, limit } as const;
  const pages = await collect(eachPage((after) => workflows.list({ ...given, ...after })));
  for (const { items } of pages) expect(items.length).toBeLessThanOrEqual(limit);
  return pages.flatMap(({ items }) => items.map(({ id }) => id));
}

/** Needs no more of a target than a fresh store, so that it also runs through a client. */
export function historySuite(target: Pick<StoreTarget, 'open'>): void {
  async function openStore(clock: () => number): Promise<Store> {
    const { store } = await target.open({ clock });
    onTestFinished(() => store.close());
    return store;
  }

  describe('history', () => {
    /** Threads of three bundles that end in turn, one each 20 minutes. */
    async function openHistory(count: number): Promise<{
      readonly workflows: Workflows;
      /** By the time of ending. */
      readonly ended: string[];
      readonly clock: { now: number };
    }> {
      const clock = { now: START };
      const { workflows } = await openStore(() => clock.now);
      const ended: string[] = [];
      for (let n = 0; n < count; n += 1) {
        const bundle = BUNDLES[n % BUNDLES.length]!;
        const { id } = await workflows.start({ name: 'x', bundle, prompt: 'p' });
        clock.now = START + n * 20 * 60_000;
        await workflows.end(id);
        ended.push(id);
      }
      return { workflows, ended, clock };
    }

    it('has the last thread to end first, whatever its bundle, on pages of any size', async () => {
      const { workflows, ended } = await openHistory(30);
      for (const limit of [1, 4, 7, 100]) {
        expect(await listAll(workflows, {}, limit)).toEqual(ended.toReversed());
      }
      const ofOne = ended.filter((_, n) => n % 3 === 1).toReversed();
      expect(await listAll(workflows, { bundle: BUNDLES[1]! }, 3)).toEqual(ofOne);
    });

    it('can be cut to a range of time', async () => {
      const { workflows, ended } = await openHistory(30);
      const at = (n: number): number => START + n * 20 * 60_000;
      const between = (from: number, to: number): string[] => ended.slice(from, to).toReversed();
      expect(await listAll(workflows, { since: at(10) }, 4)).toEqual(between(10, 30));
      expect(await listAll(workflows, { until: at(10) }, 4)).toEqual(between(0, 10));
      const days = { since: new Date(at(11)), until: new Date(at(14)) };
      expect(await listAll(workflows, days, 4)).toEqual(between(11, 14));
      expect(await listAll(workflows, { since: at(29) + 1 }, 4)).toEqual([]);
      expect(await listAll(workflows, { until: at(0) }, 4)).toEqual([]);
      expect((await workflows.list({ state: 'all', since: at(29) })).items).toHaveLength(1);
      for (const wrong of [-1, 1.5, new Date(Number.NaN)]) {
        await failure(workflows.list({ since: wrong }), 'INVALID');
        await failure(workflows.list({ until: wrong }), 'INVALID');
      }
    });

    it('goes on where a page ended, also when threads ended or were removed meanwhile', async () => {
      const { workflows, ended, clock } = await openHistory(12);
      const first = await workflows.list({ state: 'completed', limit: 5 });
      expect(first.items.map(({ id }) => id)).toEqual(ended.slice(7).toReversed());
      await workflows.remove(ended[7]!);
      await workflows.remove(ended[3]!);
      clock.now += DAY_MS;
      const { id } = await workflows.start({ name: 'x', bundle: BUNDLES[0]!, prompt: 'p' });
      await workflows.end(id);
      const next = await workflows.list({ state: 'completed', limit: 50, cursor: first.cursor! });
      const left = [6, 5, 4, 2, 1, 0].map((n) => ended[n]);
      expect(next.items.map((thread) => thread.id)).toEqual(left);
    });

    it('misses none when threads end at the same moment, or a clock is set back', async () => {
      const clock = { now: START };
      const { workflows } = await openStore(() => clock.now);
      const ended: string[] = [];
      for (let n = 0; n < 18; n += 1) {
        const bundle = BUNDLES[n % BUNDLES.length]!;
        const { id } = await workflows.start({ name: 'x', bundle, prompt: 'p' });
        clock.now = START + [0, 0, 5, 2, 2, 7][n % 6]!;
        await workflows.end(id);
        ended.push(id);
      }
      for (const limit of [1, 2, 5, 50]) {
        const listed = await listAll(workflows, {}, limit);
        expect(listed.toSorted()).toEqual(ended.toSorted());
      }
    });
  });
}
