import { setTimeout as sleep } from 'node:timers/promises';
import { isQuipuError } from '../base/errors.ts';
import { pauseMs } from '../base/retry.ts';
import type { Change } from '../engine/batch.ts';
import { isPassing } from './transport.ts';
import type { Transport } from './transport.ts';

// The changes of a store, from one stream for all listeners.
// Invariants
// - Listeners hear changes in commit order, each once.
// - After a lost stream, `missed` is called as soon as there is a new stream and before any change of it. No listener
//   hears the commits in between; reads that begin after `missed` see them.
// - A listener hears no change that this client knew to be committed when the listener began.
// - While nobody listens there is no stream.

interface Listener {
  readonly hear: (change: Change) => void;
  readonly missed: (() => void) | undefined;
  /** Changes up to this one came before the listener began. */
  afterSeq: number;
}

export class ChangeFeed {
  readonly #transport: Transport;
  readonly #listeners: Set<Listener> = new Set();
  #seenSeq = 0;
  #running: AbortController | undefined;
  /** Settles when the stream in progress is live or has failed. Never rejects. */
  #ready: Promise<void> | undefined;
  #closed = false;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * A request waits for this promise, so that listeners hear of its effects. Undefined when there is nothing to wait
   * for.
   */
  get ready(): Promise<void> | undefined {
    return this.#ready;
  }

  /** Notes a commit that is known to have happened. */
  saw(seq: number): void {
    if (seq > this.#seenSeq) this.#seenSeq = seq;
  }

  add(hear: (change: Change) => void, missed: (() => void) | undefined): () => void {
    const listener: Listener = { hear, missed, afterSeq: this.#seenSeq };
    this.#listeners.add(listener);
    if (this.#running === undefined && !this.#closed) {
      const controller = new AbortController();
      this.#running = controller;
      void this.#run(controller.signal);
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stop();
    };
  }

  close(): void {
    this.#closed = true;
    this.#listeners.clear();
    this.#stop();
  }

  #stop(): void {
    this.#running?.abort();
    this.#running = undefined;
    this.#ready = undefined;
  }

  async #run(signal: AbortSignal): Promise<void> {
    let wasLive = false;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      try {
        await this.#listen(signal, () => {
          if (wasLive) this.#tellMissed();
          wasLive = true;
          attempt = 0;
        });
      } catch (error) {
        // A reader without the right to listen, or a server without this call, will have none tomorrow either.
        if (isRefusal(error)) break;
        // Listeners read the store after `missed`, and so meet any other error that does not pass by itself.
        if (!isPassing(error)) this.#tellMissed();
      }
      if (!signal.aborted) await sleep(pauseMs(attempt), undefined, { signal }).catch(() => {});
    }
  }

  async #listen(signal: AbortSignal, onLive: () => void): Promise<void> {
    let settle: () => void = () => undefined;
    const ready = new Promise<void>((resolve) => {
      settle = resolve;
    });
    this.#ready = ready;
    const isReady = (): void => {
      settle();
      if (this.#ready === ready) this.#ready = undefined;
    };
    try {
      for await (const item of this.#transport.stream('engine.subscribe', [], { signal })) {
        if (signal.aborted) return;
        const { changes } = item as { readonly changes?: readonly Change[] };
        if (changes === undefined) {
          isReady();
          onLive();
        } else for (const change of changes) this.#tell(change);
      }
    } finally {
      isReady();
    }
  }

  #tell(change: Change): void {
    this.saw(change.seq);
    for (const listener of this.#listeners) {
      if (change.seq > listener.afterSeq) listener.hear(change);
    }
  }

  /** The store may be another one by now, such as a restored one: sequence numbers may start again. */
  #tellMissed(): void {
    this.#seenSeq = 0;
    for (const listener of this.#listeners) {
      listener.afterSeq = 0;
      listener.missed?.();
    }
  }
}

function isRefusal(error: unknown): boolean {
  const refusals = ['UNAUTHORIZED', 'FORBIDDEN', 'UNSUPPORTED', 'INVALID'];
  return isQuipuError(error) && refusals.includes(error.code);
}
