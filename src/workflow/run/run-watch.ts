import { isQuipuError } from '../../base/errors.ts';
import { noteDoc } from '../names.ts';
import { readThread } from '../threads/read-thread.ts';
import type { ThreadId } from '../threads/thread-id.ts';
import type { WorkflowWorld } from '../workflow-world.ts';

/** Watches what others do to a thread while it runs here. */
export class RunWatch implements Disposable {
  /** Aborts when the thread has ended or gone, when the store closes, and with the caller's signal. */
  readonly signal: AbortSignal;
  readonly #over = new AbortController();
  readonly #stops: (() => void)[];

  constructor({ engine, lifetime }: WorkflowWorld, id: ThreadId, signal: AbortSignal | undefined) {
    const name = noteDoc(id);
    const stop = (): void => this.#over.abort();
    const look = (): void => {
      // If the store cannot be read now, the next step reports it.
      readThread(engine, id).then(
        ({ state }) => state === 'completed' && stop(),
        (error: unknown) => isQuipuError(error, 'NOT_FOUND') && stop(),
      );
    };
    this.signal = this.#over.signal;
    this.#stops = [
      engine.subscribe(({ docs, removedDocs }) => {
        const changed = docs.some((doc) => doc.name === name) || removedDocs.includes(name);
        if (changed) look();
      }, look),
      lifetime.onClose(stop),
      () => signal?.removeEventListener('abort', stop),
    ];
    signal?.addEventListener('abort', stop);
    if (signal?.aborted === true) stop();
  }

  [Symbol.dispose](): void {
    for (const stop of this.#stops) stop();
  }
}
