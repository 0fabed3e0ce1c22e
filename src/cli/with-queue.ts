import type { Queue } from '../queue/queue.ts';
import type { CommandIo } from './command.ts';

/** Works on a queue that exists. */
export async function withQueue<T>(
  io: CommandIo,
  name: string,
  work: (queue: Queue) => Promise<T>,
): Promise<T> {
  await using store = await io.openStore();
  const queue = await store.queues.open(name, { create: false });
  // The work is awaited here, so that the store is open until the work is done.
  return await work(queue);
}
