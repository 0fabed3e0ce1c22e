import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';

import { orNothing } from '../../base/errors.ts';
import type { Batch, Change } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import { ModelEngine } from '../model-engine.ts';
import type { EngineTarget } from './engine-target.ts';
import { turnOf } from './fixture.ts';
import { steps, toBatch } from './random-batch.ts';
import type { Step } from './random-batch.ts';
import { readAll, toComparableChange, toComparableResult } from './read-all.ts';

const REFUSED = 'refused';

/** Without this batch, most first steps would have nothing to work on. */
const ROOT = turnOf({ created: 0 }, 'root');
const START: Batch = {
  blobs: [ROOT.blob],
  contexts: [{ do: 'create' }, { do: 'create' }, { do: 'create' }],
  turns: [ROOT.turn, { ...ROOT.turn, context: { created: 1 } }],
};

export function modelComparisonSuite(target: EngineTarget): void {
  describe('beside the model', () => {
    it('does the same as the model, whatever comes', { timeout: 120_000 }, async () => {
      const reopens = target.capabilities.reopen === true && target.reopen !== undefined;
      await fc.assert(
        fc.asyncProperty(steps(reopens), async (sequence) => {
          const pair = await Pair.open(target);
          try {
            await pair.commit(START);
            for (const step of sequence) await pair.take(step);
            await pair.compare();
          } finally {
            await pair.close();
          }
        }),
        { numRuns: target.randomRuns ?? 25 },
      );
    });
  });
}

/** The model and the engine under test, going through the same steps at the same times. */
class Pair {
  readonly #target: EngineTarget;
  readonly #model: ModelEngine;
  readonly #modelHeard: Change[] = [];
  readonly #engineHeard: Change[] = [];
  readonly #keyed: Batch[] = [];
  #engine: Engine;
  #nowMs = 1_000_000;

  static async open(target: EngineTarget): Promise<Pair> {
    const pair: Pair = new Pair(target, await target.open({ clock: () => pair.#nowMs }));
    return pair;
  }

  private constructor(target: EngineTarget, engine: Engine) {
    this.#target = target;
    this.#engine = engine;
    this.#model = new ModelEngine({ clock: () => this.#nowMs });
    this.#model.subscribe((change) => this.#modelHeard.push(change));
    engine.subscribe((change) => this.#engineHeard.push(change));
  }

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'commit':
        return this.commit(toBatch(this.#model.state, step));
      case 'repeat': {
        const batch = this.#keyed[step.at % this.#keyed.length];
        return batch === undefined ? undefined : this.commit(batch);
      }
      case 'wait':
        this.#nowMs += step.ms;
        return;
      case 'checkpoint':
        return this.#engine.checkpoint();
      case 'reopen':
        await this.compare();
        return this.#reopen();
    }
  }

  async compare(): Promise<void> {
    // An engine may or may not report commits of blobs alone, or of things that were there already.
    const tell = (heard: readonly Change[]): unknown[] =>
      heard.filter(isWorthTelling).map(toComparableChange);
    await vi.waitFor(
      () => expect(tell(this.#engineHeard)).toEqual(tell(this.#modelHeard)),
      // The timeout is short: a failing case is tried again and again to make it smaller.
      { timeout: 5000 },
    );
    expect(await readAll(this.#engine)).toEqual(await readAll(this.#model));
  }

  async close(): Promise<void> {
    await this.#engine.close();
  }

  async commit(batch: Batch): Promise<void> {
    const expected = await attempt(this.#model, batch);
    const hasKeys = batch.turns?.some(({ key }) => key !== undefined) === true;
    if (batch.idempotency !== undefined || hasKeys) this.#keyed.push(batch);
    expect(await attempt(this.#engine, batch)).toEqual(expected);
  }

  async #reopen(): Promise<void> {
    await this.#engine.close();
    const again = await this.#target.reopen?.(this.#engine, { clock: () => this.#nowMs });
    if (again === undefined) return;
    again.subscribe((change) => this.#engineHeard.push(change));
    this.#engine = again;
    this.#model.interruptOpenTurns();
    await this.compare();
  }
}

/** Several conditions of one batch may fail, and the engine chooses the one it names. */
async function attempt(engine: Engine, batch: Batch): Promise<unknown> {
  const committed = await orNothing(() => engine.commit(batch));
  return committed === undefined ? REFUSED : toComparableResult(committed);
}

function isWorthTelling(change: Change): boolean {
  return Object.values(change).some((list: unknown) => Array.isArray(list) && list.length > 0);
}
