import { isQuipuError } from '../../src/base/errors.ts';
import type { Io } from '../../src/engine/io.ts';
import { backupStore } from '../../src/engine/files/backup/backup-store.ts';
import type { Writer } from '../../src/engine/files/commit/writer.ts';
import { crashImages } from '../../src/testing/disk/crash-states.ts';
import { exploreCrashes } from '../../src/testing/disk/explore-crashes.ts';
import { FaultIo } from '../../src/testing/disk/fault-io.ts';
import { type FaultPlan, planFaults } from '../../src/testing/disk/fault-plan.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { SeededRandom } from '../../src/testing/disk/seeded-random.ts';
import { CHECK_TIME } from '../crash/oracle.ts';
import {
  createContext,
  failure,
  openTurn,
  writeDelta,
} from '../../src/testing/engine-suite/fixture.ts';
import { backupAgain, COPY, Life, openCopy, openLive, readCopy, STORE } from './backup-rig.ts';

/*
 * Invariant: whatever happens during a backup, the folder is then the backup before, the new one, or
 * cannot be opened; it never opens as anything else. One that was whole stays whole. The next run makes
 * it the store as it is, also when someone has opened the folder in between. The store is not touched.
 */

interface Scene {
  readonly disk: MemoryIo;
  /** What the folder showed before; undefined when there was none. */
  readonly before: string | undefined;
  readonly after: string;
}

/** A closed store with logs, documents and patches; `earlier`: with a backup some commits ago. */
async function makeScene({ seed, earlier, large = false }: Case): Promise<Scene> {
  const disk = new MemoryIo();
  const life = await Life.start(disk, seed);
  await life.commit(12);
  if (earlier) await backupStore(life.writer, COPY);
  const before = earlier ? life.text : undefined;
  await life.commit(12);
  if (large) await life.engine.putBlob({ chunks: largeBlob() });
  await life.engine.close();
  const last = disk.copy();
  await openStreaming(last);
  return { disk, before, after: await readCopy(last.copy(), STORE) };
}

/** Goes to a pack of its own. */
async function* largeBlob(): AsyncGenerator<Uint8Array> {
  const random = new SeededRandom(1);
  yield Uint8Array.from({ length: 300_000 }, () => random.below(256));
}

/** Opens the store and a turn in it, which is still open when it is backed up. */
async function openStreaming(io: Io): Promise<Writer> {
  const { writer, engine } = await openLive(io, () => CHECK_TIME);
  const { id } = await createContext(engine);
  const turn = await openTurn(engine, id);
  await writeDelta(engine, turn.id, 0, 'as far as it got');
  return writer;
}

export interface Case {
  readonly name: string;
  readonly seed: number;
  readonly earlier: boolean;
  /** True when the store has a pack that the earlier backup does not know. */
  readonly large?: boolean;
  readonly redoBytes?: number;
}

export const CASES: readonly Case[] = [
  { name: 'the first backup', seed: 1, earlier: false },
  { name: 'a backup over an earlier one', seed: 2, earlier: true },
  { name: 'a backup over an earlier one, with a new pack', seed: 4, earlier: true, large: true },
  { name: 'a change too large for one frame', seed: 3, earlier: true, redoBytes: 200 },
];

/** `opens`: someone looks into the folder, and ends the turn that was open, before the next run. */
async function checkFolder(
  disk: MemoryIo,
  scene: Scene,
  { redoBytes, opens, done }: { redoBytes?: number | undefined; opens: boolean; done: boolean },
): Promise<void> {
  const looked = opens ? disk : disk.copy();
  if ((await disk.stat(`${COPY}/FORMAT`)) !== undefined) {
    const allowed = done ? [scene.after] : [scene.before, scene.after];
    if (!allowed.includes(await readCopy(looked))) throw new Error('it opens as something else');
  } else if (done || (scene.before !== undefined && redoBytes === undefined)) {
    throw new Error('a backup that was whole cannot be opened any more');
  } else if ((await disk.stat(`${COPY}/backup.json`)) !== undefined) {
    await failure(openCopy(looked), 'INVALID');
  }
  const store = await readCopy(disk.copy(), STORE);
  await backupAgain(disk, redoBytes);
  if ((await readCopy(disk)) !== store) throw new Error('the next backup is not the store');
}

/** Cuts the power at every point of a backup, and looks at what is left. Returns how often. */
export async function cutPower(given: Case, statesPerPoint: number): Promise<number> {
  const { seed, redoBytes } = given;
  const scene = await makeScene(given);
  let checked = 0;
  const { states } = await exploreCrashes<'done'>({
    seed,
    statesPerPoint,
    start: scene.disk,
    run: async (disk, note) => {
      await backupStore(await openStreaming(disk), COPY, { redoBytes });
      note('done');
    },
    check: async (disk, facts) => {
      checked += 1;
      const how = { redoBytes, opens: checked % 2 === 0, done: facts.length > 0 };
      await checkFolder(disk, scene, how);
    },
  });
  return states;
}

/** Lets operations of a backup fail, one in so many of all the ways there are. Returns how many ways. */
export async function failOperations(given: Case, oneIn: number): Promise<number> {
  const { redoBytes, seed } = given;
  const scene = await makeScene(given);
  const watched = new FaultIo(scene.disk.copy());
  const writer = await openStreaming(watched);
  const first = watched.trace.length;
  await backupStore(writer, COPY, { redoBytes });
  const plans = planFaults(watched.trace).filter(({ at }) => at > first);
  for (const [index, plan] of plans.entries()) {
    if (index % oneIn === seed % oneIn) await failBackup(scene, plan, redoBytes);
  }
  return plans.length;
}

async function failBackup(scene: Scene, plan: FaultPlan, redoBytes?: number): Promise<void> {
  const disk = scene.disk.copy();
  const writer = await openStreaming(new FaultIo(disk, plan));
  try {
    const ended = await backupStore(writer, COPY, { redoBytes }).then(
      () => undefined,
      (error: unknown) => error,
    );
    const full = plan.kind === 'ENOSPC' && plan.times === 'forever';
    if (ended !== undefined && !isQuipuError(ended, full ? 'DISK_FULL' : undefined)) {
      throw new Error('it fails with another error', { cause: ended });
    }
    // What was not synced, or failed to be, is gone; and then, nothing is.
    for (const { disk: left } of crashImages(disk.snapshot(), 2, plan.at)) {
      const how = { redoBytes, opens: plan.at % 2 === 0, done: ended === undefined };
      await checkFolder(left, scene, how);
    }
  } catch (error) {
    throw new Error(`with fault ${JSON.stringify(plan)}`, { cause: error });
  }
}
