import { describe, expect, it } from 'vitest';
import { toContextId, toTurnId } from '../../src/base/brand.ts';
import { type FaultPlan, planFaults } from '../../src/testing/disk/fault-plan.ts';
import { describeOperation } from '../../src/testing/disk/operation.ts';
import { appendBatch, blobOf, turnOf } from '../../src/testing/engine-suite/fixture.ts';
import { FaultLife, type FaultStep } from './fault-life.ts';

/*
 * Invariant: whichever operation of the disk fails, once or from then on,
 * - a commit that was not acknowledged says so honestly, and is not there, unless it said that nobody knows;
 * - nothing acknowledged is lost, not even when power is cut afterwards;
 * - reads go on and show exactly what was acknowledged, and nothing is taken for damage;
 * - once the disk works again, so does the store: at once, or after a failed sync when it is opened again,
 *   and until then it acknowledges nothing.
 */

const CONTEXT = toContextId(1);
const STREAMED = blobOf('streamed');
const { blob, turn } = turnOf(CONTEXT, 'keyed');

const FIRST_LIFE: readonly FaultStep[] = [
  { contexts: [{ do: 'create', meta: { title: 'faulty' } }] },
  { idempotency: { context: CONTEXT, key: 'once' }, blobs: [blob], turns: [turn] },
  { logs: [{ do: 'append', name: 'logs/a', lines: ['1', '2'] }] },
  { docs: [{ name: 'published/a.json', content: '{}', publish: true }] },
  'checkpoint',
  { logs: [{ do: 'remove', name: 'logs/a' }] },
  { logs: [{ do: 'append', name: 'logs/a', lines: ['"again"'] }] },
  { opens: [{ context: CONTEXT, type: 'stream', version: 1, encoding: 3 }] },
  { deltas: [{ turn: toTurnId(2), offset: 0, bytes: STREAMED.bytes }] },
];
const LATER_LIVES: readonly FaultStep[] = [
  'kill',
  appendBatch(CONTEXT, 'after recovery'),
  { docs: [{ name: 'published/a.json', content: undefined }] },
  'reopen',
  appendBatch(CONTEXT, 'after a clean closing'),
];
const LAST = { docs: [{ name: 'last.json', content: '"on a disk that works"' }] };

async function meet(plan: FaultPlan, steps: readonly FaultStep[], where: string): Promise<number> {
  const life = await FaultLife.start(plan);
  try {
    await life.live(steps);
    await life.heal(LAST);
    // Names that a failed sync of a folder lost do not come back by writing the file again: a file
    // system that fails so has stopped, and what it keeps is for its own journal to say.
    if (!where.startsWith('syncDir')) await life.cutPower(2);
    return life.failures;
  } catch (error) {
    throw new Error(`${plan.kind} ${plan.times} at ${plan.at}, ${where}\n${String(error)}`, {
      cause: error,
    });
  }
}

/** Every fault of every operation from `from` on. */
async function meetAll(steps: readonly FaultStep[], from: number): Promise<number> {
  const clean = await FaultLife.start();
  await clean.live(steps);
  expect(clean.failures).toBe(0);
  let met = 0;
  for (const plan of planFaults(clean.trace)) {
    const operation = clean.trace[plan.at - 1];
    if (plan.at <= from || operation === undefined) continue;
    if ((await meet(plan, steps, describeOperation(operation))) > 0) met += 1;
  }
  return met;
}

async function countOperations(steps: readonly FaultStep[]): Promise<number> {
  const life = await FaultLife.start();
  await life.live(steps);
  return life.trace.length;
}

describe('a disk that fails', () => {
  it('while a store is made', { timeout: 60_000 }, async () => {
    expect(await meetAll([], 0)).toBeGreaterThan(100);
  });

  it('while a store is written to', { timeout: 60_000 }, async () => {
    expect(await meetAll(FIRST_LIFE, await countOperations([]))).toBeGreaterThan(100);
  });

  it('while a store is recovered, written to and opened again', { timeout: 60_000 }, async () => {
    const before = await countOperations(FIRST_LIFE);
    expect(await meetAll([...FIRST_LIFE, ...LATER_LIVES], before)).toBeGreaterThan(100);
  });
});
