import type { ServerResponse } from 'node:http';

/** The time for which answers may be sent before the server looks at what else there is to do. */
const STRETCH_MS = 10;

/**
 * The turns of all answers that are being sent. An answer that finds everything in memory, and whose client takes what
 * it gets, would otherwise be sent to its end before anybody else is served.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #sinceMs = 0;

  /** Resolves at once, or in a later round of the event loop when this round has taken long. */
  async next(): Promise<void> {
    if (performance.now() - this.#sinceMs < STRETCH_MS) return;
    await new Promise<void>((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(() => this.#begin());
    });
  }

  /** One answer goes on in each round. */
  #begin(): void {
    this.#sinceMs = performance.now();
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(() => this.#begin());
  }
}

/** The pace at which one client takes its answer. */
export class Pace {
  readonly #outgoing: ServerResponse;
  readonly #turns: Turns;
  #fullSinceMs: number | undefined;

  constructor(outgoing: ServerResponse, turns: Turns) {
    this.#outgoing = outgoing;
    this.#turns = turns;
  }

  /** The time for which the client has taken nothing although there was something to take. */
  stalledMs(nowMs: number): number {
    return this.#fullSinceMs === undefined ? 0 : nowMs - this.#fullSinceMs;
  }

  /** Resolves when all written bytes have left and others had their turn, or none can leave any more. */
  async drained(): Promise<void> {
    const outgoing = this.#outgoing;
    if (outgoing.destroyed) return;
    if (!outgoing.writableNeedDrain) return this.#turns.next();
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
    await this.#turns.next();
  }

  /** Cuts the client off: another client waits for the room. */
  cut(): void {
    this.#outgoing.socket?.destroy();
  }
}
