import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeUtf8 } from '../../base/text.ts';
import { collectGarbage } from '../../maintain/collect-garbage.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Store } from '../../store/store.ts';
import { blobHashes, countBlobs } from '../store-suite/fixture.ts';
import type { OpenedStore, StoreTarget } from '../store-suite/store-target.ts';
import { workflowRoots } from '../../workflow/workflow-roots.ts';
import { BUNDLE } from './fixture.ts';

/*
 * Random lives of threads against a model that is a list of texts a thread: histories are equal, a fork adds
 * no blob, and a collection leaves exactly what the threads that are there lead to.
 */

type Verb =
  | { readonly do: 'start' }
  | { readonly do: 'gc' }
  | {
      readonly do: 'step' | 'compact' | 'end' | 'remove';
      readonly which: number;
      readonly n: number;
    }
  | { readonly do: 'fork'; readonly which: number; readonly n: number };

const which = fc.nat(1000);
const verb: fc.Arbitrary<Verb> = fc.oneof(
  { weight: 2, arbitrary: fc.constant<Verb>({ do: 'start' }) },
  { weight: 1, arbitrary: fc.constant<Verb>({ do: 'gc' }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('step' as const), which, n: fc.nat(3) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('fork' as const), which, n: fc.nat(1000) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('compact' as const), which, n: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('end' as const), which, n: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), which, n: fc.nat() }) },
);

interface Modelled {
  readonly id: string;
  readonly steps: string[];
  ended: boolean;
}

class Life {
  readonly engine: Engine;
  readonly store: Store;
  threads: Modelled[] = [];

  private constructor({ engine, store }: OpenedStore) {
    this.engine = engine;
    this.store = store;
  }

  static async begin(target: StoreTarget): Promise<Life> {
    let now = Date.UTC(2026, 10, 15);
    // Days go by, so that there are many histories.
    return new Life(await target.open({ clock: () => (now += 3_600_000) }));
  }

  async play(verb: Verb): Promise<void> {
    const { workflows } = this.store;
    if (verb.do === 'gc') return this.collect();
    if (verb.do === 'start') {
      const { id } = await workflows.start({
        name: 'r',
        bundle: BUNDLE,
        prompt: 'same',
        maxRounds: 10_000,
      });
      this.threads.push({ id, steps: [], ended: false });
      return;
    }
    const thread = this.threads[verb.which % this.threads.length];
    if (thread === undefined) return;
    const { id, steps, ended } = thread;
    if (verb.do === 'remove') {
      await workflows.remove(id);
      this.threads = this.threads.filter((other) => other !== thread);
    } else if (verb.do === 'fork') {
      await this.fork(thread, verb.n);
    } else if (!ended) {
      if (verb.do === 'step') await workflows.step(id, { role: 'r', content: `${verb.n}` });
      if (verb.do === 'compact') await workflows.compact(id, `summary ${verb.n}`);
      if (verb.do === 'end') await workflows.end(id, { returnCode: verb.n });
      steps.push(verb.do === 'step' ? `${verb.n}` : '');
      thread.ended = verb.do === 'end';
    }
  }

  async fork({ id, steps, ended }: Modelled, n: number): Promise<void> {
    const there = ended ? steps.slice(0, -1) : steps;
    const blobs = await countBlobs(this.engine);
    const at = there.length === 0 ? undefined : n % there.length;
    const fork = await this.store.workflows.fork(id, at === undefined ? {} : { at });
    assert.equal(await countBlobs(this.engine), blobs);
    this.threads.push({
      id: fork.id,
      steps: at === undefined ? [] : there.slice(0, at + 1),
      ended: false,
    });
  }

  async collect(): Promise<void> {
    await this.store.maintain.gc({ graceMs: 0, all: true });
    const roots: string[] = [];
    for (const { id } of this.threads) {
      const { head, start } = (await this.store.workflows.get(id))!;
      roots.push(head, start);
    }
    const reachable = await this.store.workflows.findReachableHashes(roots);
    assert.deepEqual(await blobHashes(this.engine), reachable);
  }

  async compare(): Promise<void> {
    const { workflows } = this.store;
    for (const { id, steps, ended } of this.threads) {
      assert.equal((await workflows.get(id))?.state, ended ? 'completed' : 'active');
      const page = await workflows.steps(id, { limit: 1000 });
      assert.deepEqual(
        page.steps.map(({ content }) => content),
        steps,
      );
    }
    const { items } = await workflows.list({ state: 'all', limit: 1000 });
    assert.deepEqual(
      items.map(({ id }) => id).toSorted(),
      this.threads.map(({ id }) => id).toSorted(),
    );
  }
}

export function randomProgramsSuite(target: StoreTarget): void {
  describe('random programs', () => {
    it('agree with a model of lists', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(verb, { maxLength: 60 }), async (verbs) => {
          const life = await Life.begin(target);
          for (const next of verbs) await life.play(next);
          await life.collect();
          await life.compare();
          await life.store.close();
          expect(life.threads.length).toBeLessThanOrEqual(verbs.length);
        }),
        { numRuns: target.randomRuns ?? 25 },
      );
    });
  });

  describe('a collection', () => {
    it('that did not know the history would take finished threads', async () => {
      const life = await Life.begin(target);
      for (const next of ['start', 'step', 'end'] as const)
        await life.play({ do: next, which: 0, n: 0 });
      const { engine, store } = life;
      const source = workflowRoots(engine);
      const forgetful = {
        ...source,
        async *roots() {
          yield* [];
        },
      };
      const [thread] = life.threads;
      await collectGarbage(engine, [source], { graceMs: 0, all: true });
      expect((await store.workflows.steps(thread!.id)).steps).toHaveLength(2);
      await collectGarbage(engine, [forgetful], { graceMs: 0, all: true });
      await expect(store.workflows.steps(thread!.id)).rejects.toThrow(/there is no workflow node/);
      await store.close();
    });

    it('keeps what a thread that ends meanwhile comes to lead to', async () => {
      for (const deaf of [false, true]) {
        const life = await Life.begin(target);
        const { engine, store } = life;
        await life.play({ do: 'start' });
        const [thread] = life.threads;
        const leaf = await store.blobs.put(encodeUtf8('leaf'));
        const node = { type: 'content', payload: '', refs: [leaf.hash] };
        const artifact = await store.blobs.put(encodeUtf8(JSON.stringify(node)));
        const source = workflowRoots(engine);
        const late = {
          ...source,
          async *roots() {
            yield* source.roots();
            await store.workflows.end(thread!.id, { refs: [artifact.hash] });
          },
          ...(deaf && { rootsIn: () => [] }),
        };
        await collectGarbage(engine, [late], { graceMs: 0, all: true });
        expect(await engine.hasBlob(leaf.hash)).toBe(!deaf);
        await store.close();
      }
    });
  });
}
