import { expect } from 'vitest';
import { orNothing } from '../../base/errors.ts';
import type { Batch } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { CheckReport, Problem } from '../../engine/upkeep.ts';
import { turnOf } from '../engine-suite/fixture.ts';
import { type Step, toBatch } from '../engine-suite/random-batch.ts';
import { ModelEngine } from '../model-engine.ts';

// Invariant: a store that nothing damaged verifies clean, whatever was done to it, and also while it is being written
// to. A false alarm would teach people to ignore the true ones.

const ROOT = turnOf({ created: 0 }, 'root');
const START: Batch = {
  blobs: [ROOT.blob],
  contexts: [{ do: 'create' }, { do: 'create' }, { do: 'create' }],
  turns: [ROOT.turn, { ...ROOT.turn, context: { created: 1 } }],
};

export interface VerifyTarget {
  /** Opens the same store each time. Its clock stands at 1000. */
  open(): Promise<Engine>;
  remove(): Promise<void>;
}

/**
 * Takes the steps with a check always under way, and one at rest before each reopening. Returns the result of the last
 * check.
 */
export async function verifySteps(
  sequence: readonly Step[],
  target: VerifyTarget,
): Promise<readonly Problem[]> {
  const model = new ModelEngine({ clock: () => 1000 });
  let engine = await target.open();
  const commit = async (batch: Batch): Promise<void> => {
    await attempt(model, batch);
    await attempt(engine, batch);
  };
  try {
    await commit(START);
    let running = engine.upkeep.check({ repair: false });
    for (const [at, step] of sequence.entries()) {
      if (step.do === 'commit') await commit(toBatch(model.state, step));
      if (step.do === 'wait') await putLarge(engine, at);
      if (step.do === 'checkpoint') await engine.checkpoint();
      if (step.do === 'reopen') {
        expectClean(await running);
        expectClean(await engine.upkeep.check({ repair: false }));
        await engine.close();
        engine = await target.open();
        model.interruptOpenTurns();
        running = engine.upkeep.check({ repair: false });
      }
      if (at % 5 === 4) {
        expectClean(await running);
        running = engine.upkeep.check({ repair: false });
      }
    }
    expectClean(await running);
    const report = await engine.upkeep.check({ repair: true });
    expectClean(report);
    expect(report.checked.turns).toBe((await engine.stats()).turns);
    expect(report.checked.blobs).toBe((await engine.stats()).blobs);
    return report.problems;
  } finally {
    await engine.close();
    await target.remove();
  }
}

function expectClean(report: CheckReport): void {
  expect(report.problems).toEqual([]);
  expect(report.more).toBe(0);
  expect(report.quarantined).toEqual([]);
}

/** Puts a blob that is stored in chunks, some of them shared with the one before, and known by its SHA-256. */
async function putLarge(engine: Engine, at: number): Promise<void> {
  const words = Array.from({ length: 60_000 + at }, (_, n) => String((n * 7919) % 65_537));
  const bytes = new TextEncoder().encode(words.join(' '));
  const source = async function* (): AsyncGenerator<Uint8Array> {
    yield bytes;
  };
  await engine.putBlob({ chunks: source(), sha256: true });
}

async function attempt(engine: Engine, batch: Batch): Promise<void> {
  await orNothing(() => engine.commit(batch));
}
