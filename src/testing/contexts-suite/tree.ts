import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContextId, TurnId } from '../../base/brand.ts';
import type { Contexts } from '../../context/contexts.ts';
import { present } from '../engine-suite/fixture.ts';
import type { ContextsTarget } from './contexts-target.ts';
import { PAYLOAD_BYTES_MAX } from './contexts-target.ts';
import { collect, expectIds } from './fixture.ts';

// Random appends, rewinds and forks on a store and on plain arrays: each context is the list of the turns that lead to
// its head, and each turn keeps the list that leads to it.

type Step =
  | { readonly do: 'append'; readonly at: number; readonly count: number }
  | { readonly do: 'rewind'; readonly at: number; readonly to: number }
  | { readonly do: 'fork'; readonly to: number }
  | { readonly do: 'create' };

const STEPS = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constant('append' as const),
      at: fc.nat(),
      count: fc.integer({ min: 1, max: 4 }),
    }),
    fc.record({ do: fc.constant('rewind' as const), at: fc.nat(), to: fc.nat() }),
    fc.record({ do: fc.constant('fork' as const), to: fc.nat() }),
    fc.record({ do: fc.constant('create' as const) }),
  ),
  { minLength: 5, maxLength: 30 },
);

export function treeSuite(target: ContextsTarget): void {
  describe('trees', () => {
    it('reads random trees as plain arrays do', async () => {
      await fc.assert(
        fc.asyncProperty(
          STEPS,
          fc.array(fc.nat(), { minLength: 4, maxLength: 4 }),
          async (steps, picks) => {
            await using store = await target.open({ maxPayloadBytes: PAYLOAD_BYTES_MAX });
            const tree = new Tree(store.contexts);
            for (const step of steps) await tree.apply(step);
            await tree.compareContexts(picks);
            await tree.compareTurns(picks);
          },
        ),
        { numRuns: target.randomRuns ?? 25 },
      );
    });
  });
}

class Tree {
  readonly #contexts: Contexts;
  /** The turns that lead to the head of each context, oldest first. */
  readonly #heads = new Map<ContextId, readonly TurnId[]>();
  /** The turns that lead to each turn, itself included. */
  readonly #paths = new Map<TurnId, readonly TurnId[]>();

  constructor(contexts: Contexts) {
    this.#contexts = contexts;
  }

  async apply(step: Step): Promise<void> {
    if (step.do === 'create' || this.#heads.size === 0) {
      this.#heads.set((await this.#contexts.create()).id, []);
    } else if (step.do === 'fork') {
      const path = pick([...this.#paths.values()], step.to);
      const turn = path?.at(-1);
      if (path === undefined || turn === undefined) return;
      this.#heads.set((await this.#contexts.fork(turn)).id, path);
    } else {
      await this.#append(step);
    }
  }

  async #append(step: Step & { readonly do: 'append' | 'rewind' }): Promise<void> {
    const [id, head] = present(pick([...this.#heads], step.at));
    const rewind = step.do === 'rewind' ? pick([...this.#paths.values()], step.to) : undefined;
    const parent = rewind?.at(-1);
    const size = step.do === 'append' ? step.count : 1;
    const turns = Array.from({ length: size }, (_, n) => ({ type: 't', payload: n }));
    const added = await this.#contexts.appendBatch(
      id,
      turns,
      parent === undefined ? {} : { parent },
    );
    let path = rewind ?? head;
    for (const turn of added) {
      expect(turn).toMatchObject({ parent: path.at(-1) ?? 0n, depth: path.length, context: id });
      path = [...path, turn.id];
      this.#paths.set(turn.id, path);
    }
    this.#heads.set(id, path);
  }

  async compareContexts([a = 0, b = 0, c = 0]: readonly number[]): Promise<void> {
    for (const [id, path] of this.#heads) {
      const headDepth = Math.max(0, path.length - 1);
      const n = a % (path.length + 3);
      const last = await this.#contexts.last(id, n);
      expectIds(last.turns, n === 0 ? [] : path.slice(-n));
      expect(last.headDepth).toBe(headDepth);
      const from = b % (path.length + 2);
      const to = from + (c % (path.length + 2));
      expectIds((await this.#contexts.range(id, from, to)).turns, path.slice(from, to));
      const turn = pick(path, c);
      if (turn === undefined) continue;
      const before = await this.#contexts.before(id, turn, n);
      const end = path.indexOf(turn);
      expectIds(before.turns, path.slice(Math.max(0, end - n), end));
    }
  }

  async compareTurns(picks: readonly number[]): Promise<void> {
    const paths = [...this.#paths.values()];
    for (const one of picks.map((n) => pick(paths, n))) {
      const turn = one?.at(-1);
      if (one === undefined || turn === undefined) continue;
      expectIds(await collect(this.#contexts.chain(turn)), one);
      for (const other of paths) {
        const shared = other.filter((id, depth) => one[depth] === id);
        const diff = await this.#contexts.diff(turn, present(other.at(-1)));
        expect(diff.base).toBe(shared.at(-1));
        expect(diff.left).toEqual(one.slice(shared.length));
        expect(diff.right).toEqual(other.slice(shared.length));
      }
    }
  }
}

function pick<T>(items: readonly T[], n: number): T | undefined {
  return items.length === 0 ? undefined : items[n % items.length];
}
