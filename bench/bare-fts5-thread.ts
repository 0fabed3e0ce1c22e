import { parentPort, workerData } from 'node:worker_threads';
import { BareFts5 } from './bare-fts5.ts';

// The bare table in a thread of its own: what a query takes at least where a slow one must not hold up the process.

const bare = new BareFts5(workerData as string);

parentPort?.on('message', (asked: Parameters<BareFts5['firstPage']>) =>
  parentPort?.postMessage(bare.firstPage(...asked)),
);
