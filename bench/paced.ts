import { setTimeout } from 'node:timers/promises';

/** One call every so often, whether or not the ones before it are done. */
const PACE_MS = 5;

/**
 * Calls at a steady pace, from construction to `stop`. Each is timed from when it was due: a process that
 * stands still for a second is late for everything that was due in it, as its callers would see it.
 */
export class Paced {
  readonly #work: () => Promise<void>;
  readonly #taken: number[] = [];
  readonly #calls: Promise<void>[] = [];
  readonly #loop: Promise<void>;
  #stopped = false;

  constructor(work: () => Promise<void>) {
    this.#work = work;
    this.#loop = this.#run();
  }

  /** Stops after `count` calls; how long each took, in milliseconds. */
  async until(count: number): Promise<readonly number[]> {
    while (this.#calls.length < count) await setTimeout(PACE_MS);
    return this.stop();
  }

  async stop(): Promise<readonly number[]> {
    this.#stopped = true;
    await this.#loop;
    await Promise.all(this.#calls);
    return this.#taken;
  }

  async #run(): Promise<void> {
    for (let due = performance.now(); !this.#stopped; due += PACE_MS) {
      while (due > performance.now()) await setTimeout(due - performance.now());
      this.#calls.push(this.#time(due));
    }
  }

  async #time(due: number): Promise<void> {
    await this.#work();
    this.#taken.push(performance.now() - due);
  }
}
