import { workerData } from 'node:worker_threads';
import { SLOTS, type SharedParts, slotOf, CompressMemory } from './compressor.ts';

// The compression thread. It never ends by itself: its engine ends it.

const memory = new CompressMemory(workerData as SharedParts);
let next = 0;
for (;;) {
  const { sent } = memory;
  if (next === sent) {
    memory.waitForJobs(sent);
    continue;
  }
  // The engine compresses jobs itself when it has to wait, and may be a round ahead.
  if (((sent - next) | 0) > SLOTS) next = (sent - SLOTS) | 0;
  memory.compress(slotOf(next));
  next = (next + 1) | 0;
}
