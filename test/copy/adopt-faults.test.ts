import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { isQuipuError } from '../../src/base/errors.ts';
import type { Adoption } from '../../src/engine/adoption.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { Io } from '../../src/engine/io.ts';
import { copyEngine } from '../../src/maintain/copy/copy-engine.ts';
import { crashImages } from '../../src/testing/disk/crash-states.ts';
import { FaultIo } from '../../src/testing/disk/fault-io.ts';
import { type FaultPlan, planFaults } from '../../src/testing/disk/fault-plan.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { fillForCopy } from '../../src/testing/engine-suite/adoption-fixture.ts';
import { LIES, lyingIo } from '../crash/lying-io.ts';
import { openStore } from '../crash/open-store.ts';
import { tellAll, withUpkeep } from './copy-rig.ts';

/*
 * Invariant: whichever operation fails while records are adopted, the store ends with one of our errors or is done. After
 * a power cut it holds a beginning of the adoptions, in their order and each one whole, with every acknowledged
 * one and at most one more; and the rest can be adopted.
 */

const HONEST = ['IO', 'DISK_FULL', 'READ_ONLY'] as const;

interface Scene {
  /** A store that has the blobs, and nothing of the rest. */
  readonly start: MemoryIo;
  readonly adoptions: readonly Adoption[];
  /** What the store says after none of them, after the first, and so on. */
  readonly told: readonly string[];
}

function open(io: Io): Promise<Engine> {
  return openStore(io, () => 1000, 256 * 1024);
}

async function tell(engine: Engine): Promise<string> {
  return inspect(await tellAll(engine), { depth: null, maxArrayLength: null });
}

async function setScene(): Promise<Scene> {
  const source = await openStore(new MemoryIo(), () => 500, 1024 * 1024);
  await fillForCopy(source);
  const disk = new MemoryIo();
  const target = await open(disk);
  const adoptions: Adoption[] = [];
  const told: string[] = [];
  let start: MemoryIo | undefined;
  const noting = withUpkeep(target, {
    adopt: async (adoption) => {
      if (start === undefined) {
        await target.checkpoint();
        start = disk.copy();
        told.push(await tell(await open(start.copy())));
      }
      adoptions.push(adoption);
      await target.upkeep.adopt(adoption);
    },
  });
  await copyEngine(source, noting);
  if (start === undefined) throw new Error('nothing was adopted');
  const clean = await open(start.copy());
  for (const adoption of adoptions) {
    await clean.upkeep.adopt(adoption);
    told.push(await tell(clean));
  }
  return { start, adoptions, told };
}

/** Adopts until something fails, and cuts the power. Returns how many operations there were. */
async function live(
  { start, adoptions, told }: Scene,
  plan?: FaultPlan,
  wrap: (io: Io) => Io = (io) => io,
): Promise<FaultIo> {
  const disk = start.copy();
  const io = new FaultIo(disk, plan);
  const engine = await open(wrap(io));
  let acknowledged = 0;
  try {
    for (const adoption of adoptions) {
      await engine.upkeep.adopt(adoption);
      acknowledged += 1;
    }
  } catch (error) {
    if (!HONEST.some((code) => isQuipuError(error, code))) throw error;
  }
  for (const image of crashImages(disk.snapshot(), 2, 5)) {
    const after = await open(image.disk);
    const found = told.indexOf(await tell(after));
    if (found < acknowledged || found > acknowledged + 1) {
      throw new Error(`holds ${found} of ${acknowledged} adoptions\n${image.story()}`);
    }
    for (const adoption of adoptions.slice(found)) await after.upkeep.adopt(adoption);
    expect(await tell(after)).toBe(told.at(-1));
  }
  return io;
}

/** Every nth of the faults that adopting can meet. */
async function plansOf(scene: Scene, nth: number): Promise<FaultPlan[]> {
  const opening = new FaultIo(scene.start.copy());
  await open(opening);
  const { trace } = await live(scene);
  return planFaults(trace)
    .filter(({ at }) => at > opening.trace.length)
    .filter((_, index) => index % nth === 0);
}

describe('adopting on a disk that fails', { timeout: 60_000 }, () => {
  it('keeps what was acknowledged, whole, and can go on', async () => {
    const scene = await setScene();
    expect(scene.adoptions.length).toBeGreaterThan(4);
    let met = 0;
    for (const plan of await plansOf(scene, 13))
      met += (await live(scene, plan)).struck > 0 ? 1 : 0;
    expect(met).toBeGreaterThan(8);
  });

  it('would show an engine that goes on after a failed sync, or does not sync', async () => {
    const scene = await setScene();
    const goOn = async (): Promise<void> => {
      for (const plan of await plansOf(scene, 1)) {
        await live(scene, plan, (io) => lyingIo(io, LIES.goesOnAfterFailedSync));
      }
    };
    await expect(goOn()).rejects.toThrow(/holds -?\d of \d adoptions|is damaged/);
    const careless = live(scene, undefined, (io) => lyingIo(io, LIES.noJournalSync));
    await expect(careless).rejects.toThrow(/holds -?\d of \d adoptions/);
  });
});
