import { join } from 'node:path';
import { Quipu } from '../drivers/quipu.ts';
import { cpuSecondsSince, median } from '../figures.ts';
import { Payloads } from '../payloads.ts';
import type { Result, Trial } from './workload.ts';

/** Collecting the garbage of a fill may take as long as the backup that it falls into. */
const CHANGES = 5;

/**
 * A store of `size` payloads: backed up whole, then after `from` more, then grown to twice the size and
 * backed up, and after `from` more again; each such change several times, for its median. Figures are of the
 * processor's time: the disk has its own mind.
 */
export async function backup({ folder, size, from = 0, payloadBytes }: Trial): Promise<Result> {
  const quipu = await Quipu.open(join(folder, 'store'), { sync: false });
  const copy = join(folder, 'copy');
  const payloads = new Payloads(payloadBytes);
  const thread = await quipu.create();
  const grow = async (turns: number): Promise<void> => {
    await quipu.fill(thread, payloads.take(turns));
    await quipu.store.maintain.checkpoint();
  };
  const measure = async (): Promise<{ seconds: number; bytes: number }> => {
    const before = process.cpuUsage();
    const { copiedBytes } = await quipu.store.maintain.backup(copy);
    return { seconds: cpuSecondsSince(before), bytes: copiedBytes };
  };
  const measureChanges = async (): Promise<{ seconds: number; bytes: number }> => {
    const taken: number[] = [];
    let bytes = 0;
    while (taken.length < CHANGES) {
      await grow(from);
      const change = await measure();
      taken.push(change.seconds);
      bytes = change.bytes;
    }
    return { seconds: median(taken), bytes };
  };
  // The first ones pay for the compiler.
  await grow(from);
  await measure();

  await grow(size);
  const whole = await measure();
  const second = await measureChanges();
  await grow(size);
  await measure();
  const later = await measureChanges();
  await quipu.close();
  return {
    wholeSeconds: whole.seconds,
    wholeBytes: whole.bytes,
    secondSeconds: second.seconds,
    secondBytes: second.bytes,
    laterSeconds: later.seconds,
  };
}
