// Turns many small writes into few commits.
// Invariants
// - Bytes reach the sink in the order of the calls, each once, at the offset they have in the whole.
// - One commit is in progress at a time. During a commit, and until `gatherMs` have passed since it began, further
//   bytes gather. So a stream of tokens costs at most 1000 / gatherMs commits a second.
// - A push waits for the disk only when much text waits already, so a writer that awaits each push is not slowed down
//   to one piece a commit.
// - After a failed commit nothing more is sent. The bytes gathered behind it fail with it, so the text never has a
//   hole.

/** During a commit, and for this long after it began, further writes gather. */
const GATHER_MS = 10;
/** Gathered bytes that no longer wait for the window to end. */
const GATHER_BYTES_MAX = 1_048_576;

/** A writer that awaits each push runs ahead of the disk by this much. */
const ROOM_BYTES = 262_144;

export type DeltaSink = (offset: number, bytes: Uint8Array) => Promise<void>;

interface Gathering {
  readonly pieces: Uint8Array[];
  readonly done: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class DeltaWriter {
  readonly #sink: DeltaSink;
  readonly #gatherMs: number;
  #acknowledged: number;
  #gathering: Gathering | undefined;
  #gatheredBytes = 0;
  #sendingBytes = 0;
  #failure: { readonly error: unknown } | undefined;
  /** Never rejects. Undefined while there is nothing to send. */
  #draining: Promise<void> | undefined;
  #beganAt: number = Number.NEGATIVE_INFINITY;
  #hurry = false;
  #endPause: (() => void) | undefined;

  constructor(sink: DeltaSink, offset: number, gatherMs: number = GATHER_MS) {
    this.#sink = sink;
    this.#acknowledged = offset;
    this.#gatherMs = gatherMs;
  }

  get acknowledged(): number {
    return this.#acknowledged;
  }

  /** Acknowledged or on the way. */
  get length(): number {
    return this.#acknowledged + this.#sendingBytes + this.#gatheredBytes;
  }

  /**
   * Resolves when there is room for more: at once while fewer than `ROOM_BYTES` bytes wait for their commit, else when
   * these bytes are durable. Rejects when a commit has failed. `flush` tells that the bytes are durable.
   */
  push(bytes: Uint8Array): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error as Error);
    const gathering = (this.#gathering ??= newGathering());
    gathering.pieces.push(bytes);
    this.#gatheredBytes += bytes.length;
    if (this.#gatheredBytes >= GATHER_BYTES_MAX) this.#endPause?.();
    this.#draining ??= this.#drain();
    const waiting = this.#gatheredBytes + this.#sendingBytes;
    return waiting < ROOM_BYTES ? Promise.resolve() : gathering.done;
  }

  /** Sends what is gathered without waiting for the window; resolves when all is durable. */
  async flush(): Promise<void> {
    this.#hurry = true;
    this.#endPause?.();
    while (this.#draining !== undefined) await this.#draining;
    this.#hurry = false;
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async #drain(): Promise<void> {
    while (this.#gathering !== undefined) {
      await this.#pauseUntil(this.#beganAt + this.#gatherMs);
      const { pieces, resolve, reject } = this.#gathering;
      this.#gathering = undefined;
      this.#sendingBytes = this.#gatheredBytes;
      this.#gatheredBytes = 0;
      try {
        if (this.#failure !== undefined) throw this.#failure.error;
        this.#beganAt = performance.now();
        await this.#sink(this.#acknowledged, Buffer.concat(pieces));
        this.#acknowledged += this.#sendingBytes;
        resolve();
      } catch (error) {
        this.#failure ??= { error };
        reject(error);
      }
      this.#sendingBytes = 0;
    }
    this.#draining = undefined;
  }

  /** A timer may fire before its time, by a millisecond or by how long the loop was busy, so the clock is asked again. */
  async #pauseUntil(time: number): Promise<void> {
    for (;;) {
      const ms = time - performance.now();
      if (ms <= 0 || this.#hurry || this.#gatheredBytes >= GATHER_BYTES_MAX) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.ceil(ms));
        this.#endPause = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#endPause = undefined;
    }
  }
}

function newGathering(): Gathering {
  let resolve: Gathering['resolve'] = () => undefined;
  let reject: Gathering['reject'] = () => undefined;
  const done = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  // A caller that does not await a write still sees its failure in the next call or in `flush`.
  done.catch(() => undefined);
  return { pieces: [], done, resolve, reject };
}
