import { describe, expect, it } from 'vitest';
import type { Hash } from '../../base/brand.ts';
import type { Engine } from '../../engine/engine.ts';
import { createWorkflows } from '../../workflow/create-workflows.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { withChanges } from '../with-changes.ts';
import { BUNDLE, openWorkflows } from './fixture.ts';
import { makeLongThread } from './long-chain.ts';

/** Counts reads, and rounds of them: reads that are under way at the same time are one round. */
class Counted {
  readonly engine: Engine;
  readonly read: Hash[] = [];
  rounds = 0;
  #round: Promise<void> | undefined;

  constructor(engine: Engine) {
    this.engine = withChanges(engine, {
      viewBlob: async (hash) => {
        this.read.push(hash);
        await this.#nextRound();
        return engine.viewBlob(hash);
      },
      getDoc: async (name) => {
        await this.#nextRound();
        return engine.getDoc(name);
      },
    });
  }

  async #nextRound(): Promise<void> {
    this.#round ??= new Promise((resolve) => {
      this.rounds += 1;
      setImmediate(() => {
        this.#round = undefined;
        resolve();
      });
    });
    await this.#round;
  }
}

export function readsSuite(target: StoreTarget): void {
  describe('reading a long thread', () => {
    it('shows the last 20 of 2,000 steps in six rounds', async () => {
      const { engine } = await openWorkflows(target);
      const { thread } = await makeLongThread(engine, 2000);
      const counted = new Counted(engine);
      const { steps } = await createWorkflows(counted.engine).steps(thread.id, { limit: 20 });
      expect(steps.map(({ meta }) => meta['n'])).toEqual(
        Array.from({ length: 20 }, (_, n) => 1980 + n),
      );
      expect(counted.rounds).toBeLessThanOrEqual(6);
      expect(counted.read).toHaveLength(40);
    });

    it('reads what is after a summary and nothing before it', async () => {
      const { engine, store } = await openWorkflows(target);
      const { thread, hashes } = await makeLongThread(engine, 100);
      await store.workflows.compact(thread.id, 'a hundred steps');
      for (let n = 0; n < 5; n += 1)
        await store.workflows.step(thread.id, { role: 'r', content: `${n}` });
      const fork = await store.workflows.fork(thread.id);
      for (const { id } of [thread, fork]) {
        const counted = new Counted(engine);
        const context = await createWorkflows(counted.engine).context(id);
        expect(context.steps).toHaveLength(5);
        expect(counted.read.filter((hash) => hashes.includes(hash))).toEqual([]);
        // Start, prompt, summary, and six states with their contents.
        expect(counted.read).toHaveLength(15);
      }
    });

    it('forks at a step far back by reading one state in ten', async () => {
      const { engine } = await openWorkflows(target);
      const { thread, hashes } = await makeLongThread(engine, 1000);
      const point = hashes[3]!;
      for (const [at, most] of [
        [point, 105],
        [3, 105],
        [-12, 4],
      ] as const) {
        const counted = new Counted(engine);
        const fork = await createWorkflows(counted.engine).fork(thread.id, { at });
        expect(fork.head).toBe(at === -12 ? hashes[988] : point);
        expect(counted.read.length).toBeLessThanOrEqual(most);
      }
    });

    it('would take a round a step without the skip list', async () => {
      const { engine, store } = await openWorkflows(target);
      const { workflows } = store;
      const { id } = await workflows.start({
        name: 'x',
        bundle: BUNDLE,
        prompt: '',
        maxRounds: 10_000,
      });
      for (let n = 0; n < 30; n += 1) await workflows.step(id, { role: 'r', content: `${n}` });
      const withoutSkips = withChanges<Engine>(engine, {
        async viewBlob(hash) {
          const bytes = await engine.viewBlob(hash);
          const node = JSON.parse(Buffer.from(bytes!).toString()) as {
            type: string;
            refs: unknown[];
          };
          if (node.type !== 'state') return bytes;
          return Buffer.from(JSON.stringify({ ...node, refs: node.refs.slice(0, 3) }));
        },
      });
      const counted = new Counted(withoutSkips);
      await createWorkflows(counted.engine).steps(id, { limit: 20 });
      expect(counted.rounds).toBeGreaterThan(20);
    });
  });
}
