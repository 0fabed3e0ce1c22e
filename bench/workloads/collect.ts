import { toContextId } from '../../src/index.ts';
import { Quipu } from '../drivers/quipu.ts';
import { percentile } from '../figures.ts';
import { Paced } from '../paced.ts';
import { Payloads } from '../payloads.ts';
import type { Result, Trial } from './workload.ts';

const FILL_TURNS = 1000;
const FOREGROUND_BYTES = 10_000;

/** `size` blobs, every second thousand of which nothing leads to any more. Nothing waits for the disk. */
export async function fillHalfDead(trial: Trial): Promise<Result> {
  const quipu = await Quipu.open(trial.folder, { sync: false });
  const [kept, dropped] = [await quipu.create(), await quipu.create()];
  const payloads = new Payloads(trial.payloadBytes);
  for (let done = 0; done < trial.size; done += 2 * FILL_TURNS) {
    await quipu.fill(kept, payloads.take(FILL_TURNS));
    await quipu.fill(dropped, payloads.take(FILL_TURNS));
  }
  await quipu.store.contexts.remove(toContextId(dropped));
  await quipu.close();
  return {};
}

/**
 * Collects what is dead in a store of `size` blobs, while someone appends; before and after that, `from`
 * appends without it.
 */
export async function collect(trial: Trial): Promise<Result> {
  const quipu = await Quipu.open(trial.folder);
  const thread = await quipu.create();
  const payloads = new Payloads(FOREGROUND_BYTES, 2);
  const append = (): Promise<void> => quipu.append(thread, payloads.next());
  const appends = trial.from ?? 0;
  await new Paced(append).until(appends / 4);
  const before = await new Paced(append).until(appends);
  const meanwhile = new Paced(append);
  const start = performance.now();
  const report = await quipu.store.maintain.gc({ graceMs: 0, all: true });
  const gcSeconds = (performance.now() - start) / 1000;
  const during = await meanwhile.stop();
  const rssBytes = process.resourceUsage().maxRSS * 1024;
  const after = await new Paced(append).until(appends);
  await quipu.close();
  if (report.removedBlobs < trial.size / 2 || report.liveBlobs < trial.size / 2) {
    throw new Error(`${report.removedBlobs} blobs went and ${report.liveBlobs} stayed`);
  }
  const quiet = [...before, ...after];
  return {
    gcSeconds,
    rssBytes,
    quietP50Ms: percentile(quiet, 0.5),
    quietP99Ms: percentile(quiet, 0.99),
    quietMaxMs: Math.max(...quiet),
    meanwhileP50Ms: percentile(during, 0.5),
    meanwhileP99Ms: percentile(during, 0.99),
    meanwhileMaxMs: Math.max(...during),
  };
}
