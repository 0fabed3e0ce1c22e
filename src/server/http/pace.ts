import type { ServerResponse } from 'node:http';

/** The pace at which one client takes its answer. */
export class Pace {
  readonly #outgoing: ServerResponse;
  #fullSinceMs: number | undefined;

  constructor(outgoing: ServerResponse) {
    this.#outgoing = outgoing;
  }

  /** The time for which the client has taken nothing although there was something to take. */
  stalledMs(nowMs: number): number {
    return this.#fullSinceMs === undefined ? 0 : nowMs - this.#fullSinceMs;
  }

  /** Resolves when all written bytes have left, or none can leave any more. */
  async drained(): Promise<void> {
    const outgoing = this.#outgoing;
    if (outgoing.destroyed || !outgoing.writableNeedDrain) return;
    this.#fullSinceMs = performance.now();
    await new Promise<void>((resolve) => {
      const done = (): void => {
        outgoing.off('drain', done);
        outgoing.off('close', done);
        resolve();
      };
      outgoing.on('drain', done);
      outgoing.on('close', done);
    });
    this.#fullSinceMs = undefined;
  }

  /** Cuts the client off: another client waits for the room. */
  cut(): void {
    this.#outgoing.socket?.destroy();
  }
}
