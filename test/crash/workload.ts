import type { Batch } from '../../src/engine/batch.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { Io } from '../../src/engine/io.ts';
import type { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { SeededRandom } from '../../src/testing/disk/seeded-random.ts';
import { type Step, toBatch } from '../../src/testing/engine-suite/random-batch.ts';
import { openStore } from './open-store.ts';
import { Oracle, type Promised } from './oracle.ts';
import { ProcessIo } from './process-io.ts';
import { LOOSE_BLOBS, readText } from './read-text.ts';

const KINDS = [
  ['create', 3],
  ['describe', 1],
  ['remove', 1],
  ['append', 8],
  ['open', 2],
  ['delta', 4],
  ['seal', 3],
  ['patch', 2],
  ['fsRoot', 2],
  ['log', 3],
  ['doc', 3],
] as const;
const WEIGHTED = KINDS.flatMap(([kind, weight]) => Array.from({ length: weight }, () => kind));

export interface WorkloadOptions {
  readonly seed: number;
  readonly steps: number;
  /** Out of ten steps, how many kill the process instead of closing the store. */
  readonly kills: number;
  /** What the store is opened with; the disk of the process by default. */
  readonly wrap?: (io: Io) => Io;
}

/** A life of a store: commits alone and in groups, checkpoints, closings, kills, and always on again. */
export class Workload {
  readonly #disk: MemoryIo;
  readonly #options: WorkloadOptions;
  readonly #random: SeededRandom;
  readonly #oracle: Oracle;
  #now = 1000;
  #process: ProcessIo;
  #engine: Engine | undefined;

  private constructor(disk: MemoryIo, options: WorkloadOptions, oracle: Oracle) {
    this.#disk = disk;
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    this.#oracle = oracle;
    this.#process = new ProcessIo(disk);
  }

  static async run(
    disk: MemoryIo,
    note: (promised: Promised) => void,
    options: WorkloadOptions,
  ): Promise<void> {
    const clock = { now: (): number => 0 };
    const oracle = await Oracle.create(note, () => clock.now());
    const workload = new Workload(disk, options, oracle);
    clock.now = () => workload.#now;
    await workload.#live();
  }

  async #live(): Promise<void> {
    if (this.#options.kills > 0) await this.#openAndKill();
    await this.#open();
    const first: Batch = { contexts: [{ do: 'create' }, { do: 'create' }] };
    await this.#oracle.send(first);
    await this.#commit([first]);
    for (let step = 0; step < this.#options.steps; step += 1) {
      this.#now += this.#random.below(500);
      await this.#step(step);
    }
    await this.#engine?.close();
  }

  async #step(step: number): Promise<void> {
    const { kills } = this.#options;
    const dice = this.#random.below(10);
    if (step % 6 === 5)
      return this.#random.below(10) < kills ? this.#killAndOpen() : this.#reopen();
    if (step % 8 === 6) return this.#engine?.checkpoint();
    const loose = LOOSE_BLOBS[this.#options.seed % LOOSE_BLOBS.length];
    if (step === 3 && loose !== undefined) return this.#putLoose(loose);
    return this.#commit(await this.#sendBatches(dice < 7 ? 1 : 2 + this.#random.below(3)));
  }

  async #sendBatches(count: number): Promise<Batch[]> {
    const batches: Batch[] = [];
    while (batches.length < count) {
      const batch = toBatch(this.#oracle.newest, this.#draw());
      if (await this.#oracle.send(batch)) batches.push(batch);
    }
    return batches;
  }

  async #commit(batches: readonly Batch[]): Promise<void> {
    const engine = this.#engine;
    await Promise.all(
      batches.map(async (batch) => {
        await engine?.commit(batch);
        this.#oracle.acknowledge();
      }),
    );
  }

  async #putLoose(loose: (typeof LOOSE_BLOBS)[number]): Promise<void> {
    await this.#oracle.send({ blobs: [loose] });
    await this.#engine?.putBlob({ chunks: once(loose.bytes), sha256: true });
    this.#oracle.acknowledge();
  }

  async #reopen(): Promise<void> {
    await this.#engine?.close();
    await this.#open();
  }

  async #killAndOpen(): Promise<void> {
    const batches = await this.#sendBatches(3);
    const dead = this.#process.dieAfter(this.#random.below(60));
    await Promise.race([dead, this.#commit(batches).then(() => this.#engine?.checkpoint())]);
    await this.#process.kill();
    await this.#openAndKill();
    await this.#open();
  }

  /** Opening dies half-way, a few times or never. */
  async #openAndKill(): Promise<void> {
    while (this.#random.chance(0.5)) {
      await this.#oracle.beginOpening();
      this.#process = new ProcessIo(this.#disk);
      const killed = this.#process.dieAfter(this.#random.below(150));
      await Promise.race([killed, openStore(this.#wrapped(), () => this.#now)]);
      await this.#process.kill();
    }
  }

  async #open(): Promise<void> {
    await this.#oracle.beginOpening();
    this.#process = new ProcessIo(this.#disk);
    this.#engine = await openStore(this.#wrapped(), () => this.#now);
    this.#oracle.settle(await readText(this.#engine));
  }

  #wrapped(): Io {
    return this.#options.wrap?.(this.#process) ?? this.#process;
  }

  #draw(): Step & { do: 'commit' } {
    const random = this.#random;
    const draws = Array.from({ length: 1 + random.below(3) }, () => ({
      kind: WEIGHTED[random.below(WEIGHTED.length)] ?? 'append',
      at: random.below(100_000),
      how: random.below(100_000),
      text: this.#text(),
    }));
    return { do: 'commit', draws, key: random.below(40) };
  }

  /** Mostly short; now and then long enough that a frame has several pages. */
  #text(): string {
    const random = this.#random;
    const length = random.chance(0.1) ? 3000 : 12;
    return Array.from({ length }, () => String.fromCharCode(32 + random.below(90))).join('');
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
