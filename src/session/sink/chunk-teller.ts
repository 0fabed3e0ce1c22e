/**
 * Passes text to a listener as it comes, at most once in `throttleMs`, and loses none of it. An error of the listener
 * is kept in `error`, and stops nothing.
 */
export class ChunkTeller {
  readonly #tell: (text: string) => void;
  readonly #throttleMs: number;
  #pending = '';
  #lastMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  /** The first error that the listener threw. */
  error: string | undefined;

  constructor(tell: (text: string) => void, throttleMs: number) {
    this.#tell = tell;
    this.#throttleMs = throttleMs;
  }

  push(text: string): void {
    if (text === '') return;
    this.#pending += text;
    const waitMs = this.#lastMs + this.#throttleMs - performance.now();
    if (waitMs <= 0) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), waitMs);
  }

  flush(): void {
    const text = this.#pending;
    this.discard();
    if (text === '') return;
    this.#lastMs = performance.now();
    try {
      this.#tell(text);
    } catch (error) {
      this.error ??= error instanceof Error ? error.message : String(error);
    }
  }

  discard(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pending = '';
  }
}
