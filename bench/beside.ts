import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { DriverName } from './drivers/driver.ts';
import { median } from './figures.ts';
import { runTrial } from './run-trial.ts';
import type { Result, Trial } from './workloads/workload.ts';

/** Drivers that do not contain Quipu: the other build would measure the same thing again. */
const OTHERS: ReadonlySet<DriverName> = new Set(['raw-file', 'sqlite', 'json-lines', 'postgres']);

/** A figure is better when it falls, but for these. */
const RISING = /persecond|share/i;

interface Pair {
  readonly now: Result;
  readonly before: Result;
}

/**
 * Runs every trial of Quipu in this build and in the build of another checkout, one right after the other. The build that
 * goes first changes with every trial, so that noise and warm caches favour neither.
 */
export class Beside {
  readonly #program: string;
  readonly #pairs = new Map<string, Pair[]>();
  #runs = 0;

  /** `checkout` is a folder in which `npm run bench -- --help` has compiled the benchmarks. */
  constructor(checkout: string) {
    this.#program = resolve(checkout, 'bench/dist/bench/trial.js');
    if (existsSync(this.#program)) return;
    throw new TypeError(
      `${checkout} has no compiled benchmarks; run "npm run bench -- --help" in that folder first`,
    );
  }

  async run(trial: Trial): Promise<Result> {
    if (OTHERS.has(trial.driver)) return {};
    const other = { ...trial, folder: besideFolder(trial.folder) };
    mkdirSync(other.folder, { recursive: true });
    const isFirst = this.#runs++ % 2 === 0;
    const early = isFirst ? undefined : await runTrial(other, this.#program);
    const now = await runTrial(trial);
    const before = early ?? (await runTrial(other, this.#program));
    const key = `${trial.workload} ${trial.driver} ${trial.mix ?? ''} ${trial.size}`;
    this.#pairs.set(key, [...(this.#pairs.get(key) ?? []), { now, before }]);
    return now;
  }

  remove(folder: string): void {
    rmSync(besideFolder(folder), { recursive: true, force: true });
  }

  /** A line for each figure: the median of both builds, and the median of the ratios within each pair. */
  report(): string {
    const lines = [...this.#pairs].flatMap(([key, pairs]) =>
      Object.keys(pairs[0]?.now ?? {}).map((name) => toLine(key, name, pairs)),
    );
    return ['| trial | figure | before | now | now / before | |', '|---|---|---|---|---|---|']
      .concat(lines)
      .join('\n');
  }
}

function toLine(key: string, name: string, pairs: readonly Pair[]): string {
  const values = (build: keyof Pair): number[] => pairs.map((pair) => pair[build][name] ?? NaN);
  const ratio = median(pairs.map(({ now, before }) => (now[name] ?? NaN) / (before[name] ?? NaN)));
  const isWorse = RISING.test(name) ? ratio < 0.95 : ratio > 1.05;
  const cells = [median(values('before')), median(values('now'))].map((value) =>
    value.toPrecision(4),
  );
  return `| ${key} | ${name} | ${cells.join(' | ')} | ${ratio.toFixed(3)} | ${isWorse ? 'worse' : ''} |`;
}

function besideFolder(folder: string): string {
  return join(folder, '..', `before-${folder.slice(folder.lastIndexOf('/') + 1)}`);
}
