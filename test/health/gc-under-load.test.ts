import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import type { Engine } from '../../src/engine/engine.ts';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import type { Upkeep } from '../../src/engine/upkeep.ts';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';
import { Load } from './load.ts';

/**
 * Invariant: whatever a context leads to can be read, at any moment, while others write, fork, rewind,
 * remove and stream, and collections run one after the other without any grace period. At the end
 * nothing is left that no context leads to.
 */

const WRITERS = 8;
const READERS = 2;
const LOAD_MS = 30_000;
/** The broken variant fails within the first seconds; it gets as long as the whole. */
const BROKEN_MS = 30_000;

/** Less would say little. */
const LEAST_COLLECTIONS = 20;
const LEAST_TURNS = 500;

const ALL_NOW = { graceMs: 0, all: true };

async function openEngine(): Promise<Engine> {
  const folder = mkdtempSync(join(tmpdir(), 'quipu-load-'));
  // Power cuts are not the subject, and without syncs there is more load. Small segments and caches
  // make checkpoints and reads from disk frequent.
  const engine = await openFilesEngine(join(folder, 'store'), {
    durability: 'unsafe',
    segmentBytes: 256 * 1024,
    cacheBytes: 1024 * 1024,
    checkpointMs: 200,
  });
  onTestFinished(async () => {
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return engine;
}

/** Works, reads and collects until the time is over and enough was done, or something is wrong. */
async function run(store: Store, load: Load, forMs: number): Promise<number> {
  let collections = 0;
  const collect = async (): Promise<void> => {
    while (!load.stopped) {
      await store.maintain.gc({ graceMs: 0, all: collections % 2 === 0 });
      collections += 1;
      await sleep(5);
    }
  };
  const end = new AbortController();
  const isEnough = (): boolean =>
    collections > LEAST_COLLECTIONS && load.model.turns.size > LEAST_TURNS;
  const wait = async (): Promise<void> => {
    await sleep(forMs, undefined, end);
    // A slow machine gets as long again.
    const lastAt = performance.now() + forMs;
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

it('collects beside random work and loses nothing', { timeout: 120_000 }, async () => {
  const store = createStore(await openEngine());
  const seed = Date.now() % 1_000_000;
  const load = new Load(store.contexts, seed);
  const collections = await run(store, load, LOAD_MS);
  const about = `seed ${seed}, ${load.done} steps, ${collections} collections`;
  expect(load.failures, about).toEqual([]);
  expect(collections, about).toBeGreaterThan(LEAST_COLLECTIONS);
  expect(load.model.turns.size, about).toBeGreaterThan(LEAST_TURNS);

  await store.maintain.gc(ALL_NOW);
  for (const id of load.model.heads.keys()) await load.check(id);
  expect(load.failures, about).toEqual([]);
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
});

/** An engine that does not tell a collection what commits rely on. */
function withoutBarrier(engine: Engine): Engine {
  const { upkeep } = engine;
  const deaf: Upkeep = {
    startCollection: ({ graceMs }) =>
      upkeep.startCollection({
        graceMs,
        noted: { blob: () => undefined, turn: () => undefined },
      }),
    check: (options) => upkeep.check(options),
    eraseBlob: (hash) => upkeep.eraseBlob(hash),
    eraseLines: (log, erasures) => upkeep.eraseLines(log, erasures),
    backup: (to, progress) => upkeep.backup(to, progress),
    records: upkeep.records,
    adopt: (adoption) => upkeep.adopt(adoption),
  };
  return new Proxy(engine, {
    get(target, name) {
      if (name === 'upkeep') return deaf;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

it('would notice a collection that does not listen to commits', { timeout: 90_000 }, async () => {
  const store = createStore(withoutBarrier(await openEngine()));
  const load = new Load(store.contexts, 7);
  let stopped: unknown;
  try {
    await run(store, load, BROKEN_MS);
  } catch (error) {
    stopped = error;
  }
  load.stop();
  expect(stopped !== undefined || load.failures.length > 0).toBe(true);
});
