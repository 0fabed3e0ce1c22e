import { isQuipuError } from '../../src/base/errors.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { crashImages } from '../../src/testing/disk/crash-states.ts';
import { FaultIo } from '../../src/testing/disk/fault-io.ts';
import { type FaultPlan, planFaults } from '../../src/testing/disk/fault-plan.ts';
import type { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { describeOperation, type Operation } from '../../src/testing/disk/operation.ts';
import { openStore } from '../crash/open-store.ts';
import { ProcessIo } from '../crash/process-io.ts';
import {
  checkAfter,
  checkFinishing,
  collectBesideCommits,
  type Facts,
  type Step,
} from './gc-scene.ts';

/** What a disk that fails may make of a call. CORRUPT is not among them: nothing is damaged. */
const HONEST = ['IO', 'DISK_FULL', 'READ_ONLY'] as const;

/** Lets operations of a collection fail, one in so many of all the ways there are. Returns how many did. */
export async function failOperations(start: MemoryIo, oneIn: number): Promise<number> {
  const watched = new FaultIo(start.copy());
  const engine = await openStore(watched, () => 2000);
  const opened = watched.trace.length;
  await collectBesideCommits(engine, () => undefined);
  const plans = planFaults(watched.trace).filter(({ at }) => at > opened);
  let failed = 0;
  for (const [index, plan] of plans.entries()) {
    const operation = watched.trace[plan.at - 1];
    if (index % oneIn === 0 && operation !== undefined) {
      failed += (await failOnce(start, plan, operation)) ? 1 : 0;
    }
  }
  return failed;
}

async function failOnce(start: MemoryIo, plan: FaultPlan, operation: Operation): Promise<boolean> {
  const disk = start.copy();
  const io = new FaultIo(disk, plan);
  const process = new ProcessIo(io);
  const steps: Step[] = [];
  const facts = { steps, leftovers: plan.kind === 'EIO' && plan.times === 'forever' };
  try {
    const engine = await openStore(process, () => 2000);
    const error = await failureOf(collectBesideCommits(engine, (step) => steps.push(step)));
    if (error !== undefined && !isHonest(error)) throw error;
    io.heal();
    await checkGoingOn(engine, disk, facts);
    await process.kill();
    // Names that a failed sync of a folder lost do not come back by writing the file again.
    const ways = operation.name === 'syncDir' ? 0 : 2;
    for (const { disk: left } of crashImages(disk.snapshot(), ways, plan.at)) {
      await checkAfter(left, facts);
    }
    return error !== undefined;
  } catch (error) {
    const where = `${plan.kind} ${plan.times} at ${plan.at}, ${describeOperation(operation)}`;
    throw new Error(`${String(error)}\n${where}`, { cause: error });
  }
}

/** The disk works again, and the same store finishes the work: unless a sync failed, then it says so. */
async function checkGoingOn(engine: Engine, disk: MemoryIo, facts: Facts): Promise<void> {
  const error = await failureOf(checkFinishing(engine, disk, facts));
  if (error === undefined) return;
  if (isQuipuError(error, 'IO') && error.data.outcome === 'unknown') return;
  throw error;
}

function isHonest(error: unknown): boolean {
  return HONEST.some((code) => isQuipuError(error, code));
}

async function failureOf(work: Promise<void>): Promise<Error | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
