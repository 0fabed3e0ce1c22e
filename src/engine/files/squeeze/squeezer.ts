import { Worker } from 'node:worker_threads';
import { BlobCodec, type Squeezed } from '../../../format/blob-record.ts';
import { makeSharedParts, SLOT_BYTES, SLOTS, slotOf, SqueezeMemory } from './squeeze-memory.ts';

// Compression takes about 60 µs per 10 KB, a third of the cost of an append. When many writers append at once, a
// second thread shares that work. The second thread is only a helper: the engine's thread compresses every job that
// it would otherwise wait for. So nothing depends on the helper getting a processor.

/** A blob that was handed over. Until the job is done, the blob reads as stored raw. */
export interface SqueezeJob extends Squeezed {
  readonly done: boolean;
  /** Ends the use of the bytes. A caller that needs them longer has copied them. */
  release(): void;
}

export class Squeezer {
  #memory: SqueezeMemory | undefined;
  #thread: Worker | undefined;
  /** The oldest job that is not known to be taken. */
  #next = 0;
  #waiting = 0;

  /** Undefined when there is no free slot. Then the caller compresses the blob itself. */
  send(bytes: Uint8Array): SqueezeJob | undefined {
    const memory = (this.#memory ??= this.#start());
    const slot = slotOf(memory.sent);
    if (bytes.length > SLOT_BYTES || !memory.isFree(slot)) return undefined;
    memory.send(bytes);
    return new Job(memory, slot, bytes.length);
  }

  /** Compresses one job that is not taken yet. Returns false when there is none. */
  help(): boolean {
    const memory = this.#memory;
    if (memory === undefined) return false;
    const { sent } = memory;
    if (((sent - this.#next) | 0) > SLOTS) this.#next = (sent - SLOTS) | 0;
    while (this.#next !== sent) {
      const slot = slotOf(this.#next);
      this.#next = (this.#next + 1) | 0;
      if (memory.squeeze(slot)) return true;
    }
    return false;
  }

  async untilDone(job: SqueezeJob): Promise<void> {
    if (!(job instanceof Job)) return;
    // A wait for shared memory does not keep a process alive, and a pending commit must.
    this.#waiting += 1;
    this.#thread?.ref();
    try {
      await job.untilDone();
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#thread?.unref();
    }
  }

  async close(): Promise<void> {
    await this.#thread?.terminate();
  }

  #start(): SqueezeMemory {
    const parts = makeSharedParts();
    const memory = new SqueezeMemory(parts);
    const file = new URL('./squeeze-thread.js', import.meta.url);
    // Sources that run without a build have no file that a thread could load.
    if (!import.meta.url.endsWith('.js')) return memory;
    const thread = new Worker(file, {
      workerData: parts,
      resourceLimits: { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 32 },
    });
    thread.unref();
    thread.on('error', () => undefined);
    thread.on('exit', () => {
      if (this.#thread === thread) this.#thread = undefined;
      memory.squeezeAbandoned();
    });
    this.#thread = thread;
    return memory;
  }
}

class Job implements SqueezeJob {
  readonly #memory: SqueezeMemory;
  readonly #slot: number;
  readonly rawLength: number;
  #stored: Uint8Array | undefined;

  constructor(memory: SqueezeMemory, slot: number, rawLength: number) {
    this.#memory = memory;
    this.#slot = slot;
    this.rawLength = rawLength;
  }

  get done(): boolean {
    return this.#memory.isDone(this.#slot);
  }

  get stored(): Uint8Array {
    if (this.#stored !== undefined) return this.#stored;
    const shrunk = this.#memory.storedLength(this.#slot) > 0;
    const stored = shrunk ? this.#memory.storedOf(this.#slot) : this.#memory.rawOf(this.#slot);
    if (this.done) this.#stored = stored;
    return stored;
  }

  get codec(): Squeezed['codec'] {
    return this.#memory.storedLength(this.#slot) > 0 ? BlobCodec.zstd : BlobCodec.raw;
  }

  untilDone(): Promise<void> {
    return this.#memory.untilDone(this.#slot);
  }

  release(): void {
    this.#memory.free(this.#slot);
  }
}
