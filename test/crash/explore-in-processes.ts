import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { compiledRig } from '../support/build-when-stale.ts';
import type { LivesCount, LivesOptions } from './explore.ts';

const run = promisify(execFile);

export interface ExploredCount extends Omit<LivesCount, 'images'> {
  /** Where the seeds of each process begin. */
  readonly seeds: readonly number[];
  /** Different disks over all processes, each of them recovered and held against the promises. */
  readonly states: number;
  readonly seconds: number;
}

/**
 * Explores in several processes side by side, the first failure ending all of them. Give them less time
 * than the test has, or they outlive it.
 */
export async function exploreInProcesses(
  each: readonly LivesOptions[],
  timeoutMs: number,
): Promise<ExploredCount> {
  const startedAt = performance.now();
  const ending = new AbortController();
  try {
    const counts = await Promise.all(
      each.map((options) => exploreInProcess(options, timeoutMs, ending.signal)),
    );
    const sum = (pick: (count: LivesCount) => number): number =>
      counts.reduce((total, count) => total + pick(count), 0);
    return {
      seeds: each.map(({ firstSeed }) => firstSeed),
      states: new Set(counts.flatMap(({ images }) => images)).size,
      nested: sum((count) => count.nested),
      lives: sum((count) => count.lives),
      points: sum((count) => count.points),
      checks: sum((count) => count.checks),
      seconds: Math.round((performance.now() - startedAt) / 1000),
    };
  } finally {
    ending.abort();
  }
}

/** A number has at most 17 characters, and a process seldom has more than a million of them. */
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/** Each recovery leaves a young heap behind: collecting it less often saves a third of the time. */
const NODE_OPTIONS = ['--max-semi-space-size=64', '--min-semi-space-size=32'];

async function exploreInProcess(
  options: LivesOptions,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<LivesCount> {
  const worker = compiledRig('explore-worker');
  const argv = [...NODE_OPTIONS, worker, JSON.stringify(options)];
  const { stdout } = await run(process.execPath, argv, {
    maxBuffer: OUTPUT_BYTES_MAX,
    timeout: timeoutMs,
    signal,
  });
  return JSON.parse(stdout) as LivesCount;
}
