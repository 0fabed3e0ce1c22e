import { openStore, toContextId } from '../../src/index.ts';
import { openHistory } from '../drivers/open-driver.ts';
import { median, timeEach } from '../figures.ts';
import { Payloads } from '../payloads.ts';
import type { Result, Trial } from './workload.ts';

/** The cost of an append is taken over this many turns at the end. */
const MEASURED_TURNS = 20_000;

/** Thread 1 grows from `from` to `size` turns, without waiting for the disk. */
export async function grow(trial: Trial): Promise<Result> {
  const from = trial.from ?? 0;
  const history = await openHistory(trial.driver, trial.folder, { sync: false });
  if (from === 0) await history.create();
  const payloads = new Payloads(trial.payloadBytes, trial.size);
  const measured = Math.min(MEASURED_TURNS, Math.ceil((trial.size - from) / 2));
  await history.fill(1, payloads.take(trial.size - from - measured));
  const start = performance.now();
  await history.fill(1, payloads.take(measured));
  const appendUs = ((performance.now() - start) * 1000) / measured;
  await history.close();
  return { appendUs };
}

/** Opens a store that was closed, in a process that did nothing else. */
export async function open(trial: Trial): Promise<Result> {
  const start = performance.now();
  const store = await openStore(trial.folder, { create: false });
  const openMs = performance.now() - start;
  const { turns } = await store.contexts.last(toContextId(1), 64);
  const rssBytes = process.memoryUsage.rss();
  await store.close();
  if (turns.length !== 64) throw new Error(`${turns.length} turns came back`);
  return { openMs, rssBytes };
}

/** Forks at depth 10, at 1,000 and at the end of a thread of `from` turns, `size` times each. */
export async function fork(trial: Trial): Promise<Result> {
  const history = await openHistory(trial.driver, trial.folder, { sync: false });
  const depths = { near: 10, middle: 1000, far: (trial.from ?? 0) - 1 };
  const taken: Record<string, number[]> = { near: [], middle: [], far: [] };
  const points = await Promise.all(
    Object.entries(depths).map(async ([name, depth]) => ({
      name,
      point: await history.turnAt(1, depth),
    })),
  );
  for (let i = 0; i < trial.size; i++) {
    for (const { name, point } of points) {
      taken[name]?.push(...(await timeEach(1, () => history.fork(point))));
    }
  }
  await history.close();
  // The first ones pay for the compiler.
  const settled = (name: string): number => median((taken[name] ?? []).slice(trial.size >> 2));
  return { nearMs: settled('near'), middleMs: settled('middle'), farMs: settled('far') };
}
