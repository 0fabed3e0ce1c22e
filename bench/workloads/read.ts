import { openHistory } from '../drivers/open-driver.ts';
import { Quipu } from '../drivers/quipu.ts';
import { percentile, timeEach } from '../figures.ts';
import { holdHeap } from '../hold-heap.ts';
import { Payloads } from '../payloads.ts';
import { SeededRandom } from '../../src/testing/disk/seeded-random.ts';
import type { Result, Trial } from './workload.ts';

const PAGE_TURNS = 64;
const TURNS = 512;

/** The newest 64 turns of a thread with their payloads, read `size` times over. */
export async function lastTurns(trial: Trial): Promise<Result> {
  holdHeap();
  const history = await openHistory(trial.driver, trial.folder, { sync: false });
  const thread = await history.create();
  await history.fill(thread, new Payloads(trial.payloadBytes).take(TURNS));
  const read = async (): Promise<void> => {
    const bytes = await history.last(thread, PAGE_TURNS);
    if (bytes !== PAGE_TURNS * trial.payloadBytes) throw new Error(`${bytes} bytes came back`);
  };
  await timeEach(Math.ceil(trial.size / 4), read);
  const taken = await timeEach(trial.size, read);
  await history.close();
  return { p50Ms: percentile(taken, 0.5), p99Ms: percentile(taken, 0.99) };
}

/** 64 turns from anywhere in a thread of `from` turns, `size` times. */
export async function range(trial: Trial): Promise<Result> {
  const history = await openHistory(trial.driver, trial.folder, { sync: false });
  const random = new SeededRandom(7);
  const turns = trial.from ?? 0;
  let mostReads = 0;
  const taken = await timeEach(trial.size, async () => {
    const before = history instanceof Quipu ? history.turnReads : 0;
    const depth = random.below(turns - PAGE_TURNS);
    await history.range(1, depth, depth + PAGE_TURNS);
    if (history instanceof Quipu) mostReads = Math.max(mostReads, history.turnReads - before);
  });
  await history.close();
  return { p50Ms: percentile(taken, 0.5), mostReads };
}
