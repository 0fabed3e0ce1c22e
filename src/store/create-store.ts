import { createContexts } from '../context/create-contexts.ts';
import type { ContextsOptions } from '../context/create-contexts.ts';
import { Lifetime } from '../context/lifetime.ts';
import type { Engine } from '../engine/engine.ts';
import { createBlobs } from './create-blobs.ts';
import { createMaintain } from './create-maintain.ts';
import type { Store } from './store.ts';

export type StoreOptions = Omit<ContextsOptions, 'lifetime'>;

/** A store over an engine, which it owns from now on and closes with itself. */
export function createStore(engine: Engine, options: StoreOptions = {}): Store {
  const lifetime = new Lifetime();
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
    contexts: createContexts(engine, { ...options, lifetime }),
    blobs: createBlobs(engine, lifetime),
    maintain: createMaintain(engine, lifetime),
    close,
    [Symbol.asyncDispose]: close,
  };
}
