/** Runs a checkpoint some time after the first commit that needs one. */
export class CheckpointTimer {
  readonly #delayMs: number;
  readonly #run: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  /** Infinity: a checkpoint runs only when asked for. */
  constructor(delayMs: number, run: () => Promise<void>) {
    this.#delayMs = delayMs;
    this.#run = run;
  }

  start(): void {
    if (this.#timer !== undefined || this.#stopped || this.#delayMs === Infinity) return;
    this.#timer = setTimeout(() => this.runNow(), this.#delayMs).unref();
  }

  runNow(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#stopped) return;
    // A failure shows at the next commit, through the journal or when the segment is needed.
    this.#run().catch(() => undefined);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }
}
