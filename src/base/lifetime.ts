import { QuipuError } from './errors.ts';

type Verb = (...args: readonly unknown[]) => unknown;

const AsyncFunction = (async () => undefined).constructor;

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
    throw closedError(what);
  }

  /** The same verbs, which refuse calls once the store is closed. Those that are no functions stay as they are. */
  guard<Verbs extends object>(noun: string, verbs: Verbs): Verbs {
    const guarded = Object.entries(verbs).map(([name, verb]: [string, unknown]) => [
      name,
      typeof verb === 'function' ? this.#guardOne(`${noun}.${name}`, verb as Verb) : verb,
    ]);
    return Object.fromEntries(guarded) as Verbs;
  }

  /** A verb that gives a promise refuses with one. */
  #guardOne(what: string, verb: Verb): Verb {
    const isAsync = verb instanceof AsyncFunction;
    return (...args) => {
      if (!this.#closed) return verb(...args);
      if (isAsync) return Promise.reject(closedError(what));
      throw closedError(what);
    };
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

function closedError(what: string): QuipuError<'CLOSED'> {
  return new QuipuError('CLOSED', `${what}: the store is closed`, { what });
}
