import { isQuipuError } from '../../src/base/errors.ts';
import type { Batch } from '../../src/engine/batch.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { Io } from '../../src/engine/io.ts';
import { crashImages } from '../../src/testing/disk/crash-states.ts';
import { FaultIo } from '../../src/testing/disk/fault-io.ts';
import type { FaultPlan } from '../../src/testing/disk/fault-plan.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import type { Operation } from '../../src/testing/disk/operation.ts';
import { describeDifference } from './describe-difference.ts';
import { openStore } from './open-store.ts';
import { CHECK_TIME, Oracle } from './oracle.ts';
import { ProcessIo } from './process-io.ts';
import { readText } from './read-text.ts';

export type FaultStep = Batch | 'checkpoint' | 'reopen' | 'kill';

/** The room that is kept, also on a disk that fails. */
const RESERVE_BYTES = 4096;

/** What a disk that fails may make of a call. CORRUPT is not among them: nothing is damaged. */
const HONEST = ['IO', 'DISK_FULL', 'READ_ONLY', 'CLOSED'] as const;

/** One life of a store on a disk that fails as planned, held against the promises at every step. */
export class FaultLife {
  readonly disk: MemoryIo = new MemoryIo();
  readonly #io: FaultIo;
  #process: ProcessIo;
  readonly #oracle: Oracle;
  readonly #wrap: (io: Io) => Io;
  #engine: Engine | undefined;
  /** A sync failed: nothing may be acknowledged until the store is opened again. */
  #broken = false;
  #failures = 0;

  private constructor(oracle: Oracle, plan: FaultPlan | undefined, wrap: (io: Io) => Io) {
    this.#oracle = oracle;
    this.#wrap = wrap;
    this.#io = new FaultIo(this.disk, plan);
    this.#process = new ProcessIo(this.#io);
  }

  /** `wrap` is what stands between the engine and its disk. */
  static async start(plan?: FaultPlan, wrap = (io: Io): Io => io): Promise<FaultLife> {
    const oracle = await Oracle.create(
      () => undefined,
      () => 1000,
    );
    return new FaultLife(oracle, plan, wrap);
  }

  get trace(): readonly Operation[] {
    return this.#io.trace;
  }

  get lostNames(): boolean {
    return this.#io.lostNames;
  }

  get failures(): number {
    return this.#failures;
  }

  async live(steps: readonly FaultStep[]): Promise<void> {
    await this.#open();
    for (const step of steps) {
      if (step === 'checkpoint') await this.#try(async (engine) => engine.checkpoint());
      else if (step === 'reopen' || step === 'kill') await this.#reopen(step);
      else await this.#commit(step);
    }
  }

  /** The disk works again: so does the store, at once unless a sync had failed. */
  async heal(batch: Batch): Promise<void> {
    this.#io.heal();
    if (this.#engine === undefined || this.#broken) await this.#reopen('kill');
    if (this.#engine === undefined) throw new Error('cannot be opened on a disk that works');
    await this.#assertReads();
    if (!(await this.#commit(batch)) && !(await this.#commitAnew(batch))) {
      throw new Error('takes no commit on a disk that works');
    }
    await this.#engine.checkpoint();
    await this.#assertReads();
  }

  /** A power cut now; some of the ways in which it can end. */
  async cutPower(ways: number): Promise<void> {
    for (const image of crashImages(this.disk.snapshot(), ways, 3)) {
      const text = await readText(await openStore(image.disk, () => CHECK_TIME));
      if (this.#oracle.promised.includes(text)) continue;
      throw new Error(`${describeDifference(text, this.#oracle.promised)}\n${image.story()}`);
    }
  }

  async #open(): Promise<void> {
    await this.#oracle.beginOpening();
    this.#process = new ProcessIo(this.#io);
    try {
      this.#engine = await openStore(
        this.#wrap(this.#process),
        () => 1000,
        undefined,
        RESERVE_BYTES,
      );
    } catch (error) {
      this.#assertHonest(error);
      return;
    }
    this.#broken = false;
    const text = await this.#read();
    if (text === undefined) return;
    // On a full disk it is there to be read: what must be written first is written later, or by the next one.
    if (!this.#oracle.promised.includes(text) && (await this.#oracle.mayShowOpen(text))) {
      this.#failures += 1;
      await this.#process.kill();
      this.#engine = undefined;
      return;
    }
    this.#oracle.settle(text);
  }

  async #reopen(how: 'reopen' | 'kill'): Promise<void> {
    // A close that fails lets go all the same.
    if (how === 'reopen') await this.#try((engine) => engine.close());
    else await this.#process.kill();
    this.#engine = undefined;
    await this.#open();
  }

  async #commit(batch: Batch): Promise<boolean> {
    if (this.#engine === undefined || !(await this.#oracle.send(batch))) return false;
    try {
      await this.#engine.commit(batch);
      if (this.#broken) throw new TypeError('acknowledged something after a failed sync');
      this.#oracle.acknowledge();
      return true;
    } catch (error) {
      this.#assertHonest(error);
      const isUnknown = isQuipuError(error, 'IO') && error.data.outcome === 'unknown';
      // Once broken, every answer says so, and only the first commit can be on the disk.
      if (!isUnknown || this.#broken) this.#oracle.takeBack();
      this.#broken ||= isUnknown;
      await this.#assertReads();
      return false;
    }
  }

  /** A checkpoint beside the last commit may have met the fault, and the next commit is the first to say so. */
  async #commitAnew(batch: Batch): Promise<boolean> {
    if (!this.#broken) return false;
    await this.#reopen('kill');
    return this.#commit(batch);
  }

  async #try(work: (engine: Engine) => Promise<void>): Promise<void> {
    if (this.#engine === undefined) return;
    try {
      await work(this.#engine);
    } catch (error) {
      this.#assertHonest(error);
      this.#broken ||= isQuipuError(error, 'IO') && error.data.outcome === 'unknown';
    }
  }

  /** Reads go on and show what was acknowledged, unless the disk refuses to be read. */
  async #assertReads(): Promise<void> {
    // Once and again is enough: on a disk that fails for good the third answer is the second.
    if (this.#failures > 4 && this.#failures % 8 !== 0) return;
    const text = await this.#read();
    const shown = await this.#oracle.readShown();
    if (text === undefined || text === shown) return;
    throw new TypeError(describeDifference(text, [shown]));
  }

  async #read(): Promise<string | undefined> {
    if (this.#engine === undefined) return undefined;
    try {
      return await readText(this.#engine);
    } catch (error) {
      this.#assertHonest(error);
      return undefined;
    }
  }

  #assertHonest(error: unknown): void {
    this.#failures += 1;
    if (!HONEST.some((code) => isQuipuError(error, code))) throw error;
  }
}
