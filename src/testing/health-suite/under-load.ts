import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Engine } from '../../engine/engine.ts';
import type { Upkeep } from '../../engine/upkeep.ts';
import { createStore } from '../../store/create-store.ts';
import type { Store } from '../../store/store.ts';
import { openBeside, openRig } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { withChanges } from '../with-changes.ts';
import { Load } from './load.ts';

/**
 * Invariant: everything that a context leads to can be read, at any moment, while others write, fork, rewind, remove
 * and stream, and collections run one after the other without any grace period. At the end nothing is left that no
 * context leads to.
 */

const WRITERS = 8;
const READERS = 2;
/** Fewer per millisecond would prove little. */
const LEAST_COLLECTIONS = 20 / 30_000;
const LEAST_TURNS = 500 / 30_000;

/** Only against what never comes. */
const PATIENCE_MS = 120_000;

const ALL_NOW = { graceMs: 0, all: true };

/** Works, reads and collects until the time is over and enough was done, or something is wrong. */
async function run(collector: Store, load: Load, forMs: number): Promise<number> {
  let collections = 0;
  const collect = async (): Promise<void> => {
    while (!load.stopped) {
      await collector.maintain.gc({ graceMs: 0, all: collections % 2 === 0 });
      collections += 1;
      await sleep(5);
    }
  };
  const end = new AbortController();
  const isEnough = (): boolean =>
    collections > forMs * LEAST_COLLECTIONS && load.model.turns.size > forMs * LEAST_TURNS;
  const wait = async (): Promise<void> => {
    await sleep(forMs, undefined, end);
    // A slow machine gets more time.
    const lastAt = performance.now() + PATIENCE_MS;
    while (!isEnough() && performance.now() < lastAt) await sleep(100, undefined, end);
    load.stop();
  };
  const timer = wait().catch(() => undefined);
  const work = [collect()];
  for (let n = 0; n < WRITERS; n += 1) work.push(load.write());
  for (let n = 0; n < READERS; n += 1) work.push(load.read());
  await Promise.all(work);
  end.abort();
  await timer;
  return collections;
}

/** Checks that the store holds nothing but what contexts lead to, and that this is whole. */
async function checkAll(store: Store, load: Load, about: string): Promise<void> {
  await store.maintain.gc(ALL_NOW);
  for (const id of load.model.heads.keys()) await load.check(id);
  expect(load.failures.join('\n'), about).toBe('');
  const wrong: string[] = [];
  for (const [hash, isNeeded] of load.model.payloads()) {
    if ((await store.blobs.has(hash)) !== isNeeded) wrong.push(`${hash} ${isNeeded}`);
  }
  expect(wrong, about).toEqual([]);
  const reachable = load.model.reachable();
  for (const id of load.model.turns.keys()) {
    const isThere = (await store.contexts.turn(id, { payload: false })) !== undefined;
    if (isThere !== reachable.has(id)) wrong.push(`turn ${id}`);
  }
  expect(wrong, about).toEqual([]);
  const again = await store.maintain.gc({ ...ALL_NOW, dryRun: true });
  expect(again).toMatchObject({ deadBlobs: 0, deadBytes: 0, youngBlobs: 0 });
  expect(await store.maintain.verify()).toMatchObject({ ok: true, problems: [] });
}

/** An engine that does not tell a collection which blobs and turns commits rely on. */
function withoutBarrier(engine: Engine): Engine {
  const { upkeep } = engine;
  const reliance = { blob: () => undefined, turn: () => undefined };
  const startCollection: Upkeep['startCollection'] = ({ graceMs }) =>
    upkeep.startCollection({ graceMs, reliance });
  return withChanges(engine, { upkeep: withChanges(upkeep, { startCollection }) });
}

/** Where two can use one store, two work on it for this long, and one of them collects. */
export function underLoadSuite(target: StoreTarget, forMs: number): void {
  describe(`collections under load on ${target.name}`, { timeout: forMs + 2 * PATIENCE_MS }, () => {
    it('go on beside random work and lose nothing', async () => {
      const rig = await openRig(target);
      const { store: other } = await openBeside(rig);
      const seed = Date.now() % 1_000_000;
      const load = new Load([rig.store.contexts, other.contexts], seed);
      const collections = await run(other, load, forMs);
      const about = `seed ${seed}, ${load.done} steps, ${collections} collections`;
      expect(load.failures.join('\n'), about).toBe('');
      expect(collections, about).toBeGreaterThan(forMs * LEAST_COLLECTIONS);
      expect(load.model.turns.size, about).toBeGreaterThan(forMs * LEAST_TURNS);
      await checkAll(rig.store, load, about);
    });

    it('would be noticed if they did not listen to commits', async () => {
      const { engine } = await openRig(target);
      const store = createStore(withoutBarrier(engine));
      const load = new Load([store.contexts], 7);
      let stopped: unknown;
      try {
        // This variant fails within the first seconds, and is given more time.
        await run(store, load, PATIENCE_MS);
      } catch (error) {
        stopped = error;
      }
      load.stop();
      expect(stopped !== undefined || load.failures.length > 0).toBe(true);
    });
  });
}
