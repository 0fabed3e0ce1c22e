/** The shortest time between two dispatches, so that many pushes cost few looks at the consumers. */
const EVERY_MS = 20;

/**
 * Dispatches soon after it is asked, never twice at once, and once more when it was asked meanwhile: a dispatch always
 * sees what was pushed before the last ask.
 */
export class WakeUp {
  readonly #dispatch: () => Promise<unknown>;
  readonly #failed: (error: unknown) => void;
  #asked = false;
  #running: Promise<void> | undefined;

  constructor(dispatch: () => Promise<unknown>, failed: (error: unknown) => void) {
    this.#dispatch = dispatch;
    this.#failed = failed;
  }

  ask(): void {
    this.#asked = true;
    this.#running ??= this.#run();
  }

  /** Resolves when every requested dispatch is done. */
  async settled(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#asked) {
      await new Promise((resolve) => {
        setTimeout(resolve, EVERY_MS);
      });
      this.#asked = false;
      try {
        await this.#dispatch();
      } catch (error) {
        this.#failed(error);
      }
    }
    this.#running = undefined;
  }
}
