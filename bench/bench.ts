import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Beside } from './beside.ts';
import type { DriverName } from './drivers/driver.ts';
import { median } from './figures.ts';
import { planRounds } from './plan-rounds.ts';
import { runTrial } from './run-trial.ts';
import type { Sizes } from './sizes.ts';
import type { Result, Trial, WorkloadName } from './workloads/workload.ts';

/** One result per round for each driver. */
export type Rounds = ReadonlyMap<DriverName, readonly Result[]>;

/** Runs trials in folders of their own, which are gone when the run ends. */
export class Bench implements Disposable {
  readonly sizes: Sizes;
  readonly #folder: string;
  readonly #say: (text: string) => void;
  readonly #beside: Beside | undefined;
  readonly #grown = new Map<DriverName, number>();

  constructor(
    { sizes, dir }: { readonly sizes: Sizes; readonly dir: string },
    say: (text: string) => void,
    beside?: Beside,
  ) {
    this.sizes = sizes;
    this.#folder = mkdtempSync(join(dir, 'quipu-bench-'));
    this.#say = say;
    this.#beside = beside;
  }

  /** Every driver once per round, each time in a fresh folder. */
  async rounds(
    workload: WorkloadName,
    drivers: readonly DriverName[],
    size: number,
  ): Promise<Rounds> {
    return this.#runRounds(planRounds(drivers, this.sizes.rounds), { workload, size, from: 0 });
  }

  /** For figures that do not vary, or take long: one round. `from` is the workload's second size. */
  async once(
    workload: WorkloadName,
    drivers: readonly DriverName[],
    { size, from = 0 }: { size: number; from?: number },
  ): Promise<Rounds> {
    return this.#runRounds(planRounds(drivers, 1), { workload, size, from });
  }

  async #runRounds(
    rounds: readonly (readonly DriverName[])[],
    asked: Required<Pick<Trial, 'workload' | 'size' | 'from'>>,
  ): Promise<Rounds> {
    const drivers = rounds[0] ?? [];
    const results = new Map<DriverName, Result[]>(drivers.map((driver) => [driver, []]));
    for (const round of rounds) {
      for (const driver of round) {
        const folder = mkdtempSync(join(this.#folder, 'trial-'));
        const { payloadBytes } = this.sizes;
        const trial = { ...asked, driver, folder, payloadBytes };
        results.get(driver)?.push(await this.#run(trial));
        this.#remove(folder);
      }
    }
    return results;
  }

  /** Workloads on one folder, one after the other, each in a process of its own; the last one's figures. */
  async inTurn(
    workloads: readonly WorkloadName[],
    asked: Pick<Trial, 'size' | 'payloadBytes'> & Partial<Pick<Trial, 'from' | 'mix'>>,
  ): Promise<Result> {
    const folder = mkdtempSync(join(this.#folder, 'trial-'));
    let result: Result = {};
    for (const workload of workloads) {
      result = await this.#run({ ...asked, workload, driver: 'quipu', folder });
    }
    this.#remove(folder);
    return result;
  }

  /** A trial on the driver's one store of many turns, which must have been grown before. */
  async onGrown(workload: WorkloadName, driver: DriverName, size: number): Promise<Result> {
    const from = this.#grown.get(driver) ?? 0;
    return this.#run({ ...this.#grownTrial(driver), workload, size, from });
  }

  /** Lets the driver's one store grow to `turns` turns; undefined when it has as many already. */
  async grow(driver: DriverName, turns: number): Promise<Result | undefined> {
    const from = this.#grown.get(driver) ?? 0;
    if (from >= turns) return undefined;
    const result = await this.#run({ ...this.#grownTrial(driver), size: turns, from });
    this.#grown.set(driver, turns);
    return result;
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #grownTrial(driver: DriverName): Trial {
    const folder = join(this.#folder, `grown-${driver}`);
    const payloadBytes = this.sizes.smallPayloadBytes;
    return { workload: 'grow', driver, folder, size: 0, payloadBytes };
  }

  async #run(trial: Trial): Promise<Result> {
    this.#say(`${trial.workload} ${trial.driver} …`);
    return this.#beside === undefined ? runTrial(trial) : this.#beside.run(trial);
  }

  #remove(folder: string): void {
    rmSync(folder, { recursive: true });
    this.#beside?.remove(folder);
  }
}

/** The median over all rounds of one driver. */
export function figure(rounds: Rounds, driver: DriverName, name: string): number {
  return median((rounds.get(driver) ?? []).map((result) => result[name] ?? Number.NaN));
}

/** How many times `a` is `b`: the median of the ratios within each round, which share its noise. */
export function ratio(
  rounds: Rounds,
  drivers: readonly [a: DriverName, b: DriverName],
  name: string,
): number {
  return median(ratios(rounds, drivers, name));
}

/** The same for each round. */
export function ratios(
  rounds: Rounds,
  drivers: readonly [a: DriverName, b: DriverName],
  name: string,
): number[] {
  return pairsOf(rounds, drivers, name).map(([a, b]) => a / b);
}

/** How much more `a` is than `b`, within each round as well. */
export function difference(
  rounds: Rounds,
  drivers: readonly [a: DriverName, b: DriverName],
  name: string,
): number {
  return median(pairsOf(rounds, drivers, name).map(([a, b]) => a - b));
}

function pairsOf(
  rounds: Rounds,
  [a, b]: readonly [DriverName, DriverName],
  name: string,
): [number, number][] {
  const others = rounds.get(b) ?? [];
  return (rounds.get(a) ?? []).map((result, round) => [
    result[name] ?? Number.NaN,
    others[round]?.[name] ?? Number.NaN,
  ]);
}
