/** Wakes one waiter. Rings that come while nobody waits count once, so no wake-up is lost. */
export class Bell {
  #rung = false;
  #waiter: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#waiter?.();
  }

  async wait(): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>((resolve) => {
        this.#waiter = resolve;
      });
    }
    this.#waiter = undefined;
    this.#rung = false;
  }
}
