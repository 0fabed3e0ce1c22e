import { toContextId, toTurnId } from '../../src/base/brand.ts';
import { type FaultPlan, planFaults } from '../../src/testing/disk/fault-plan.ts';
import { describeOperation } from '../../src/testing/disk/operation.ts';
import { appendBatch, blobOf, turnOf } from '../../src/testing/engine-suite/fixture.ts';
import { FaultLife, type FaultStep } from './fault-life.ts';

const CONTEXT = toContextId(1);
const STREAMED = blobOf('streamed');
const { blob, turn } = turnOf(CONTEXT, 'keyed');

const FIRST_LIFE: readonly FaultStep[] = [
  { contexts: [{ do: 'create', meta: { title: 'faulty' } }] },
  { idempotency: { context: CONTEXT, key: 'once' }, blobs: [blob], turns: [turn] },
  { logs: [{ do: 'append', name: 'logs/a', lines: ['1', '2'] }] },
  { docs: [{ name: 'out/a.json', content: '{}', publish: true }] },
  'checkpoint',
  { logs: [{ do: 'remove', name: 'logs/a' }] },
  { logs: [{ do: 'append', name: 'logs/a', lines: ['"again"'] }] },
  { opens: [{ context: CONTEXT, type: 'stream', version: 1, encoding: 3 }] },
  { deltas: [{ turn: toTurnId(2), offset: 0, bytes: STREAMED.bytes }] },
];
const LATER_LIVES: readonly FaultStep[] = [
  'kill',
  appendBatch(CONTEXT, 'after recovery'),
  { docs: [{ name: 'out/a.json', content: undefined }] },
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
    if (!life.lostNames) await life.cutPower(2);
    return life.failures;
  } catch (error) {
    throw new Error(`${plan.kind} ${plan.times} at ${plan.at}, ${where}\n${String(error)}`, {
      cause: error,
    });
  }
}

/** Every fault of every operation that `steps` cause after those of `before`; how many were noticed. */
async function meetAll(
  steps: readonly FaultStep[],
  before?: readonly FaultStep[],
): Promise<number> {
  const from = before === undefined ? 0 : await countOperations(before);
  const clean = await FaultLife.start();
  await clean.live(steps);
  if (clean.failures > 0) throw new Error('fails on a disk that works');
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

/** Faults while a store is made. */
export function meetWhileMaking(): Promise<number> {
  return meetAll([]);
}

/** Faults while a store is written to. */
export function meetWhileWriting(): Promise<number> {
  return meetAll(FIRST_LIFE, []);
}

/** Faults while a store is recovered, written to and opened again. */
export function meetWhileRecovering(): Promise<number> {
  return meetAll([...FIRST_LIFE, ...LATER_LIVES], FIRST_LIFE);
}
