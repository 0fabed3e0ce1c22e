import { Lifetime } from '../base/lifetime.ts';
import type { Upcaster } from '../chat/events/read-line.ts';
import type { Chats } from '../chat/handle/chats.ts';
import { createContexts } from '../context/verbs/create-contexts.ts';
import type { ContextsOptions } from '../context/verbs/create-contexts.ts';
import type { Engine } from '../engine/engine.ts';
import type { Workflows } from '../workflow/threads/workflows.ts';
import { createBlobs } from './create-blobs.ts';
import { createMaintain } from './create-maintain.ts';
import { eraseVerbs } from './erase-verbs.ts';
import { chatsOnUse, sessionsOnUse, workflowsOnUse } from './kinds-on-use.ts';
import type { StoreElsewhere } from './store-elsewhere.ts';
import { storeQueues, type QueuesPlace } from './store-queues.ts';
import type { Store } from './store.ts';
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
    served = false,
    ...contextsOptions
  } = options;
  const erase = eraseVerbs({ engine, lifetime, clock, folder });
  const readPage = elsewhere && { readPage: elsewhere.readPage };
  // A folder that another process owns is on this machine, and so are its sessions.
  const away = elsewhere !== undefined && folder === undefined;
  const sessions = sessionsOnUse({ engine, lifetime, clock, folder, served, away });
  let closing: Promise<void> | undefined;

  async function loadWorkflows(): Promise<Workflows> {
    const { createWorkflows } = await import('../workflow/create-workflows.ts');
    return createWorkflows(engine, {
      lifetime,
      clock,
      async readArtifact(url, session) {
        return (await sessions.resolve(url, session === undefined ? {} : { session })).content;
      },
    });
  }

  const eraseBlob = elsewhere?.eraseBlob ?? erase.blob;

  async function loadChats(upcasters: readonly Upcaster[]): Promise<Chats> {
    const { createChats } = await import('../chat/create-chats.ts');
    return createChats({ engine, lifetime, clock, eraseBlob }, upcasters);
  }

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
      ...createContexts(engine, { ...contextsOptions, ...readPage, lifetime }),
      erase: elsewhere?.eraseTurn ?? erase.turn,
    },
    workflows: workflowsOnUse(loadWorkflows),
    queues: storeQueues(queues, lifetime),
    sessions,
    blobs: {
      ...createBlobs(engine, lifetime),
      async path(ref) {
        lifetime.assertOpen('blobs.path');
        const { blobPath } = await import('./blob-path.ts');
        return blobPath(engine, folder, ref);
      },
      erase: eraseBlob,
    },
    chats: chatsOnUse(loadChats),
    maintain: {
      ...createMaintain({ engine, lifetime, clock, folder, queues, away }),
      ...(elsewhere && { gc: elsewhere.gc, retain: elsewhere.retain }),
    },
    watch(filter = {}, options = {}) {
      lifetime.assertOpen('store.watch');
      return watchStore(engine, lifetime, checkWatch(filter, options));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
