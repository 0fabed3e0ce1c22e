import { Worker } from 'node:worker_threads';
import { programFile } from '../../../base/program-file.ts';
import { compress } from '../../../base/compress.ts';
import { BlobCodec, type Compressed } from '../../../format/blob-record.ts';
import { copyInto } from '../../../format/bytes.ts';

// Compression takes about 60 µs per 10 KB, a third of the cost of an append. When many writers append at once, a
// second thread shares that work. The second thread is only a helper: the engine's thread compresses every job that
// it would otherwise wait for. So nothing depends on the helper getting a processor.

/** A blob that was handed over. Until the job is done, the blob reads as stored raw. */
export interface CompressJob extends Compressed {
  readonly done: boolean;
  /** Ends the use of the bytes. A caller that needs them longer has copied them. */
  release(): void;
}

export class Compressor {
  #memory: CompressMemory | undefined;
  #thread: Worker | undefined;
  /** The oldest job that is not known to be taken. */
  #next = 0;
  #waiting = 0;

  /** Undefined when there is no free slot. Then the caller compresses the blob itself. */
  send(bytes: Uint8Array): CompressJob | undefined {
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
      if (memory.compress(slot)) return true;
    }
    return false;
  }

  async untilDone(job: CompressJob): Promise<void> {
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

  #start(): CompressMemory {
    const parts = makeSharedParts();
    const memory = new CompressMemory(parts);
    const file = programFile('engine/files/compress/compress-thread.js');
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
      memory.compressAbandoned();
    });
    this.#thread = thread;
    return memory;
  }
}

class Job implements CompressJob {
  readonly #memory: CompressMemory;
  readonly #slot: number;
  readonly rawLength: number;
  #stored: Uint8Array | undefined;

  constructor(memory: CompressMemory, slot: number, rawLength: number) {
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

  get codec(): Compressed['codec'] {
    return this.#memory.storedLength(this.#slot) > 0 ? BlobCodec.zstd : BlobCodec.raw;
  }

  untilDone(): Promise<void> {
    return this.#memory.untilDone(this.#slot);
  }

  release(): void {
    this.#memory.free(this.#slot);
  }
}

// Memory that the engine's thread and the compression thread share. A job lies in a slot: its state, its lengths,
// its bytes and their compressed form. Jobs are numbered in order, and job n lies in slot n mod SLOTS. So the queue
// needs only the number of jobs sent.
//
//   control, 32-bit words:  jobs sent so far, whether the thread sleeps, then per slot: state, raw
//   length, stored length
//
// A job belongs to the thread that moves its state from SENT to TAKEN. Either side may do so. A thread that gets no
// processor, or that has died, holds up one job at most.

export const SLOTS = 128;

/** A larger blob is compressed by the thread that receives it: it would hold up the others. */
const SLOT_BYTES: number = 32 * 1024;

const SENT_AT = 0;
const SLEEPS_AT = 1;
const WORDS_BEFORE = 2;
const WORDS_PER_SLOT = 3;

const State = { FREE: 0, SENT: 1, TAKEN: 2, DONE: 3 } as const;

export interface SharedParts {
  readonly control: SharedArrayBuffer;
  readonly bytes: SharedArrayBuffer;
}

function makeSharedParts(): SharedParts {
  return {
    control: new SharedArrayBuffer((WORDS_BEFORE + SLOTS * WORDS_PER_SLOT) * 4),
    bytes: new SharedArrayBuffer(SLOTS * SLOT_BYTES * 2),
  };
}

/** The slots, as either side sees them. */
export class CompressMemory {
  readonly #control: Int32Array<SharedArrayBuffer>;
  readonly #bytes: Buffer;

  constructor({ control, bytes }: SharedParts) {
    this.#control = new Int32Array(control);
    this.#bytes = Buffer.from(bytes);
  }

  /** The number wraps around. Only differences mean something. */
  get sent(): number {
    return Atomics.load(this.#control, SENT_AT);
  }

  isFree(slot: number): boolean {
    return this.#stateOf(slot) === State.FREE;
  }

  isDone(slot: number): boolean {
    return this.#stateOf(slot) === State.DONE;
  }

  /** Puts job number `sent` into its slot, which must be free. */
  send(bytes: Uint8Array): void {
    const slot = slotOf(this.sent);
    copyInto(this.#bytes, slot * SLOT_BYTES * 2, bytes);
    this.#control[stateAt(slot) + 1] = bytes.length;
    this.#control[stateAt(slot) + 2] = 0;
    Atomics.store(this.#control, stateAt(slot), State.SENT);
    Atomics.add(this.#control, SENT_AT, 1);
    // Waking a thread is a system call: once is enough.
    if (Atomics.exchange(this.#control, SLEEPS_AT, 0) === 1) Atomics.notify(this.#control, SENT_AT);
  }

  /** Compresses the job in the slot, unless the other side does or did. */
  compress(slot: number): boolean {
    const { SENT, TAKEN } = State;
    if (Atomics.compareExchange(this.#control, stateAt(slot), SENT, TAKEN) !== SENT) return false;
    this.#compressTaken(slot);
    return true;
  }

  /** Ends the jobs of a thread that died: no other thread would end them. */
  compressAbandoned(): void {
    for (let slot = 0; slot < SLOTS; slot += 1) {
      if (this.#stateOf(slot) === State.TAKEN) this.#compressTaken(slot);
    }
  }

  free(slot: number): void {
    Atomics.store(this.#control, stateAt(slot), State.FREE);
  }

  rawOf(slot: number): Uint8Array {
    return this.#view(slot, 0, this.#control[stateAt(slot) + 1] ?? 0);
  }

  /** 0 when compression did not make the bytes smaller, or is not done. */
  storedLength(slot: number): number {
    return this.#control[stateAt(slot) + 2] ?? 0;
  }

  storedOf(slot: number): Uint8Array {
    return this.#view(slot, SLOT_BYTES, this.storedLength(slot));
  }

  /** Blocks until more than `seen` jobs were sent. Not for the engine's thread. */
  waitForJobs(seen: number): void {
    Atomics.store(this.#control, SLEEPS_AT, 1);
    Atomics.wait(this.#control, SENT_AT, seen);
  }

  /** Resolves when the job in the slot is done. A thread must have taken it. */
  async untilDone(slot: number): Promise<void> {
    while (this.#stateOf(slot) === State.TAKEN) {
      await Atomics.waitAsync(this.#control, stateAt(slot), State.TAKEN).value;
    }
  }

  #compressTaken(slot: number): void {
    const raw = this.rawOf(slot);
    const stored = compress(raw);
    const shrunk = stored.length < raw.length;
    if (shrunk) copyInto(this.#bytes, slot * SLOT_BYTES * 2 + SLOT_BYTES, stored);
    this.#control[stateAt(slot) + 2] = shrunk ? stored.length : 0;
    Atomics.store(this.#control, stateAt(slot), State.DONE);
    Atomics.notify(this.#control, stateAt(slot));
  }

  #stateOf(slot: number): number {
    return Atomics.load(this.#control, stateAt(slot));
  }

  #view(slot: number, offset: number, length: number): Buffer {
    const start = slot * SLOT_BYTES * 2 + offset;
    return this.#bytes.subarray(start, start + length);
  }
}

export function slotOf(job: number): number {
  // The number is unsigned, and SLOTS divides 2^32: numbers that wrapped around continue in the next slot.
  return (job >>> 0) % SLOTS;
}

function stateAt(slot: number): number {
  return WORDS_BEFORE + slot * WORDS_PER_SLOT;
}
