import { setTimeout as sleep } from 'node:timers/promises';
import { isQuipuError } from '../base/errors.ts';
import { pauseMs } from '../base/pause.ts';
import type { Change } from '../engine/batch.ts';
import { isPassing } from './retry.ts';
import type { Transport } from './transport.ts';

// The changes of a store, from one stream for all who listen.
// Invariants
// - Listeners hear changes in commit order, each once.
// - When the stream was lost, `missed` is called as soon as there is one again and before any change of
//   it: what was committed in between is heard by nobody, and seen by reads that begin then.
// - A listener hears nothing that this client knew to be committed when it began to listen.
// - While nobody listens there is no stream.

interface Listener {
  readonly hear: (change: Change) => void;
  readonly missed: (() => void) | undefined;
  /** Changes up to this one came before it listened. */
  afterSeq: number;
}

export class ChangeFeed {
  readonly #transport: Transport;
  readonly #listeners: Set<Listener> = new Set();
  #seenSeq = 0;
  #running: AbortController | undefined;
  /** Settles when the stream under way is live or could not be had. Never rejects. */
  #ready: Promise<void> | undefined;
  #closed = false;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Undefined unless there is something to wait for before a request may rely on being heard of. */
  get ready(): Promise<void> | undefined {
    return this.#ready;
  }

  /** A commit is known to have happened. */
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
        // A reader without the right to listen, or a server that has no such call, has none tomorrow.
        if (isRefusal(error)) break;
        // Anything else that does not pass by itself is met by whoever looks.
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

  /** The store may be another one by now, such as one that was restored: numbers may begin anew. */
  #tellMissed(): void {
    this.#seenSeq = 0;
    for (const listener of this.#listeners) {
      listener.afterSeq = 0;
      listener.missed?.();
    }
  }
}

function isRefusal(error: unknown): boolean {
  return ['UNAUTHORIZED', 'FORBIDDEN', 'UNSUPPORTED', 'INVALID'].some(
    (code) => isQuipuError(error) && error.code === code,
  );
}
