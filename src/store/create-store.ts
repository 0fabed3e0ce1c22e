import { createContexts } from '../context/create-contexts.ts';
import type { ContextsOptions } from '../context/create-contexts.ts';
import { Lifetime } from '../context/lifetime.ts';
import type { Engine } from '../engine/engine.ts';
import { createBlobs } from './create-blobs.ts';
import { createMaintain } from './create-maintain.ts';
import { eraseVerbs } from './erase-verbs.ts';
import type { Store } from './store.ts';

export interface StoreOptions extends Omit<ContextsOptions, 'lifetime'> {
  /** Milliseconds since 1970, for what depends on age. Default `Date.now`. */
  readonly clock?: () => number;
}

/** A store over an engine, which it owns from now on and closes with itself. */
export function createStore(engine: Engine, options: StoreOptions = {}): Store {
  const lifetime = new Lifetime();
  const { clock = Date.now, ...contextsOptions } = options;
  const erase = eraseVerbs(engine, lifetime, clock);
  let closing: Promise<void> | undefined;

  async function closeAll(): Promise<void> {
    await lifetime.close();
    await engine.close();
  }

  function close(): Promise<void> {
    closing ??= closeAll();
    return closing;
  }

  return {
    contexts: {
      ...createContexts(engine, { ...contextsOptions, lifetime }),
      erase: erase.turn,
    },
    blobs: { ...createBlobs(engine, lifetime), erase: erase.blob },
    maintain: createMaintain(engine, lifetime, clock),
    close,
    [Symbol.asyncDispose]: close,
  };
}
