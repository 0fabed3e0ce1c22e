import { QuipuError } from './errors.ts';

/** Whether the store is open, for everything that works over one engine. */
export class Lifetime {
  #closed = false;
  readonly #hooks = new Set<() => Promise<void> | void>();

  get closed(): boolean {
    return this.#closed;
  }

  /** `what` names the call, for the message. */
  assertOpen(what: string): void {
    if (!this.#closed) return;
    throw new QuipuError('CLOSED', `${what}: the store is closed`, { what });
  }

  /** Calls `hook` when the store closes, before the engine closes. Call the result to remove the hook. */
  onClose(hook: () => Promise<void> | void): () => void {
    this.#hooks.add(hook);
    return () => this.#hooks.delete(hook);
  }

  /** Refuses calls from now on. Resolves when every hook is done, whether it failed or not. */
  async close(): Promise<void> {
    this.#closed = true;
    const hooks = [...this.#hooks];
    this.#hooks.clear();
    await Promise.allSettled(hooks.map(async (hook) => hook()));
  }
}
