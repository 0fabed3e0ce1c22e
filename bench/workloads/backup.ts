import { join } from 'node:path';
import { Quipu } from '../drivers/quipu.ts';
import { Payloads } from '../payloads.ts';
import type { Result, Trial } from './workload.ts';

/**
 * A store of `size` payloads: backed up whole, then after `from` more, then grown to twice the size and
 * backed up, and after `from` more again. Figures are of the processor's time: the disk has its own mind.
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
    const { user, system } = process.cpuUsage(before);
    return { seconds: (user + system) / 1e6, bytes: copiedBytes };
  };
  // The first ones pay for the compiler.
  await grow(from);
  await measure();

  await grow(size);
  const whole = await measure();
  await grow(from);
  const second = await measure();
  await grow(size);
  await measure();
  await grow(from);
  const later = await measure();
  await quipu.close();
  return {
    wholeSeconds: whole.seconds,
    wholeBytes: whole.bytes,
    secondSeconds: second.seconds,
    secondBytes: second.bytes,
    laterSeconds: later.seconds,
  };
}
