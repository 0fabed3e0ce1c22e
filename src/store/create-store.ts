import { leavable } from '../base/leavable.ts';
import { Lifetime } from '../base/lifetime.ts';
import { createContexts, type ContextsOptions } from '../context/verbs/create-contexts.ts';
import { typedContexts } from '../context/typed/typed-contexts.ts';
import type { Engine } from '../engine/engine.ts';
import { blobPath, createBlobs } from './create-blobs.ts';
import { createMaintain } from './maintain.ts';
import { eraseVerbs } from './erase-verbs.ts';
import {
  chatsOf,
  queuesOf,
  sessionsOf,
  workflowsOf,
  type QueuesPlace,
  type StoreHome,
} from './kinds.ts';
import { searchIsOff, type Search } from '../search/contract/search.ts';
import type { StoreElsewhere, Store } from './store.ts';
import { checkWatch, watchStore } from './watch-store.ts';

export interface StoreOptions extends Omit<ContextsOptions, 'lifetime' | 'readPage'> {
  /** Milliseconds since 1970, for decisions that depend on age. Default `Date.now`. */
  readonly clock?: () => number;
  /** The folder of the store, if it is on this machine. */
  readonly folder?: string;
  /** True for the store of a server: whatever its clients ask for stays in its folder. */
  readonly served?: boolean;
  /** Does the work that cannot be done through the engine alone, when the engine is in another process. */
  readonly elsewhere?: StoreElsewhere;
  /** Absent: the store has no search. The store closes it with itself. */
  readonly search?: Search & { close?(): Promise<void> };
  /** The place of the queues. Absent: the store has no place for any. */
  readonly queues?: QueuesPlace;
}

/** A store over an engine. The store owns the engine from now on, and closes it with itself. */
export function createStore(engine: Engine, options: StoreOptions = {}): Store {
  const lifetime = new Lifetime();
  const {
    clock = Date.now,
    elsewhere,
    folder,
    queues,
    search,
    served = false,
    ...contextsOptions
  } = options;
  // A folder that another process owns is on this machine, and so are its sessions.
  const away = elsewhere !== undefined && folder === undefined;
  const home: StoreHome = { engine, lifetime, clock, folder, queues, away, served };
  const erase = eraseVerbs(home, elsewhere);
  const readPage = elsewhere && { readPage: elsewhere.readPage };
  const sessions = sessionsOf(home);
  if (search?.close !== undefined) lifetime.onClose(() => search.close?.());
  let closing: Promise<void> | undefined;

  async function closeAll(): Promise<void> {
    await lifetime.close();
    await engine.close();
  }

  function close(): Promise<void> {
    closing ??= closeAll();
    return closing;
  }

  const storeVerbs: Pick<Store, 'search' | 'watch'> = {
    async search(query, given) {
      if (search === undefined) throw searchIsOff();
      return search.search(query, given);
    },
    watch(filter = {}, options = {}) {
      const plan = checkWatch(filter, options);
      return leavable(plan.signal, (signal) => watchStore(engine, lifetime, { ...plan, signal }));
    },
  };

  const store: Store = {
    contexts: {
      ...createContexts(engine, { ...contextsOptions, ...readPage, lifetime }),
      ...lifetime.guard('contexts', { erase: erase.turn }),
    },
    workflows: workflowsOf(home, sessions),
    queues: queuesOf(home),
    sessions,
    blobs: {
      ...createBlobs(engine, lifetime),
      ...lifetime.guard('blobs', {
        path: async (ref: string) => blobPath(engine, folder, ref),
        erase: erase.blob,
      }),
    },
    chats: chatsOf(home, erase.blob),
    maintain: {
      ...createMaintain(home, elsewhere),
      ...(elsewhere && { gc: elsewhere.gc }),
    },
    ...lifetime.guard('store', storeVerbs),
    typed: (schemas, options) => ({
      ...store,
      contexts: typedContexts(store.contexts, schemas, options),
    }),
    close,
    [Symbol.asyncDispose]: close,
  };
  return store;
}
