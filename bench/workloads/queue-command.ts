import { spawn } from 'node:child_process';
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { createQueueFolder } from '../../src/queue/sqlite/open-database.ts';
import { median } from '../figures.ts';
import { events } from './queue.ts';
import type { Result, Trial } from './workload.ts';

const TIMES = 5;
const THREAD = fileURLToPath(new URL('../../src/cli/thread/main.js', import.meta.url));
const RAW = fileURLToPath(new URL('../raw-insert.js', import.meta.url));

/** The same lines to the command and to a script, in turns, each in a process of its own and into an empty table. */
export async function queueCommand({ folder, size }: Trial): Promise<Result> {
  const input = join(folder, 'events.ndjson');
  const lines = events(size).map((event) => `${JSON.stringify(event)}\n`);
  writeFileSync(input, lines.join(''));
  const [pushed, inserted, shares]: number[][] = [[], [], []];
  for (let round = 0; round < TIMES; round += 1) {
    const least = await secondsOf([RAW, folder], input);
    const queue = join(folder, 'queue');
    createQueueFolder(queue);
    const taken = await secondsOf([THREAD, 'push', '--thread', queue, '--batch'], input);
    inserted?.push(least);
    pushed?.push(taken);
    shares?.push(least / taken);
    for (const name of ['queue', 'raw.db', 'raw.db-wal', 'raw.db-shm']) {
      rmSync(join(folder, name), { recursive: true, force: true });
    }
  }
  return {
    pushSeconds: median(pushed ?? []),
    rawSeconds: median(inserted ?? []),
    share: median(shares ?? []),
  };
}

async function secondsOf(args: readonly string[], input: string): Promise<number> {
  const file = openSync(input, 'r');
  const start = performance.now();
  // Waking others is no part of what is compared: a notifier that does nothing.
  const env = { ...process.env, THREAD_NOTIFIER: 'true' };
  const child = spawn(process.execPath, [...args], { stdio: [file, 'ignore', 'inherit'], env });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  closeSync(file);
  if (code !== 0) throw new Error(`${args.join(' ')} ended with code ${code}`);
  return (performance.now() - start) / 1000;
}
