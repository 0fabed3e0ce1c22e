import type { ServerResponse } from 'node:http';

/** How one client takes its answer. */
export class Pace {
  readonly #outgoing: ServerResponse;
  #fullSinceMs: number | undefined;

  constructor(outgoing: ServerResponse) {
    this.#outgoing = outgoing;
  }

  /** How long it has taken nothing although there was something. */
  stalledMs(nowMs: number): number {
    return this.#fullSinceMs === undefined ? 0 : nowMs - this.#fullSinceMs;
  }

  /** Resolves when all that was written has left, or nothing can leave any more. */
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

  /** There is somebody who would take it. */
  cut(): void {
    this.#outgoing.socket?.destroy();
  }
}
