import { RawFile } from '../drivers/raw-file.ts';
import { openAppender } from '../drivers/open-driver.ts';
import { percentile, timeEach } from '../figures.ts';
import { holdHeap } from '../hold-heap.ts';
import { Payloads } from '../payloads.ts';
import type { Result, Trial } from './workload.ts';

const WRITERS = 64;

/** `size` durable appends by one writer, each after the one before it. */
export async function appendOne(trial: Trial): Promise<Result> {
  holdHeap();
  const payloads = new Payloads(trial.payloadBytes);
  const next = (): Uint8Array =>
    trial.driver === 'raw-file' ? RawFile.prepare(payloads.next()) : payloads.next();
  const appender = await openAppender(trial.driver, trial.folder);
  const thread = await appender.create();
  // Code that ran some hundred times is still being interpreted: a writer that lives for long is measured.
  for (let i = 0; i < trial.size * 2; i++) await appender.append(thread, next());

  const ready = Array.from({ length: trial.size }, next);
  const taken = await timeEach(trial.size, async () => {
    await appender.append(thread, ready.pop() ?? new Uint8Array(1));
  });
  await appender.close();
  return { p50Ms: percentile(taken, 0.5), p99Ms: percentile(taken, 0.99) };
}

/**
 * `size` durable appends by 64 writers, each on a thread of its own. `busy` is the share of the time in which
 * the event loop of this process had something to do: near 1, the writers are what limits the rate.
 */
export async function appendMany(trial: Trial): Promise<Result> {
  holdHeap();
  const appender = await openAppender(trial.driver, trial.folder);
  const threads: number[] = [];
  for (let i = 0; i < WRITERS; i++) threads.push(await appender.create());
  const payloads = new Payloads(trial.payloadBytes);

  const run = async (turns: number): Promise<void> => {
    let left = turns;
    const write = async (thread: number): Promise<void> => {
      // One buffer for each writer: new ones were half of all memory that the process had to collect.
      const payload = payloads.next();
      while (left > 0) {
        left -= 1;
        await appender.append(thread, payloads.renew(payload));
      }
    };
    await Promise.all(threads.map(write));
  };
  // As above. In the first 20,000 appends the rate of 64 writers grows from 4,000/s to 12,000/s.
  await run(trial.size);
  const loop = performance.eventLoopUtilization();
  const start = performance.now();
  await run(trial.size);
  const seconds = (performance.now() - start) / 1000;
  const busy = performance.eventLoopUtilization(loop).utilization;
  await appender.close();
  return { perSecond: trial.size / seconds, busy };
}
