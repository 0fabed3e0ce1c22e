import { leavable } from '../base/leavable.ts';
import { Lifetime } from '../base/lifetime.ts';
import { createContexts, type ContextsOptions } from '../context/verbs/create-contexts.ts';
import { typedContexts } from '../context/typed/typed-contexts.ts';
import type { Engine } from '../engine/engine.ts';
import { blobPath, createBlobs, findHash, noBlob } from './create-blobs.ts';
import type { Blobs } from './blobs.ts';
import { createMaintain } from './maintain.ts';
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
import { toTurnId } from '../base/brand.ts';
import { checkBoolean, only } from '../base/check-value.ts';
import { jsonable } from '../base/jsonable.ts';
import { invalid } from '../base/errors.ts';
import { checkBounded } from '../base/text.ts';
import type { Contexts, EraseOptions } from '../context/contexts.ts';
import { REASON_BYTES_MAX } from '../context/limits.ts';
import type { RootSource } from '../engine/roots.ts';
import type { BlobNeed } from '../engine/upkeep.ts';

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
  const { eraseTurn, eraseBlob } = elsewhere ?? eraseHere(home);
  const eraseTheTurn: Contexts['erase'] = async (turn, given) =>
    jsonable(await eraseTurn(toTurnId(turn), given));
  const eraseTheBlob: Blobs['erase'] = async (ref, given) => jsonable(await eraseBlob(ref, given));
  const readPage = elsewhere && { readPage: elsewhere.readPage };
  const sessions = sessionsOf(home);
  if (search?.close !== undefined) lifetime.onClose(() => search.close?.());
  let closing: Promise<void> | undefined;

  function close(): Promise<void> {
    closing ??= lifetime.close().then(() => engine.close());
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
      ...lifetime.guard('contexts', { erase: eraseTheTurn }),
    },
    workflows: workflowsOf(home, sessions),
    queues: queuesOf(home),
    sessions,
    blobs: {
      ...createBlobs(engine, lifetime),
      ...lifetime.guard('blobs', {
        path: async (ref: string) => blobPath(engine, folder, ref),
        erase: eraseTheBlob,
      }),
    },
    chats: chatsOf(home, eraseTheBlob),
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

/** Erases in this process. */
function eraseHere({
  engine,
  clock,
  folder,
}: StoreHome): Pick<StoreElsewhere, 'eraseTurn' | 'eraseBlob'> {
  async function otherSources(): Promise<readonly RootSource[]> {
    const { blobSources } = await import('./root-sources.ts');
    return blobSources(engine, clock, folder);
  }

  return {
    async eraseTurn(turn, options) {
      const checked = checkErase(options);
      const { eraseTurn } = await import('../maintain/erase-blobs.ts');
      const others = await otherSources();
      return eraseTurn(engine, turn, { ...checked, atMs: clock(), others });
    },

    async eraseBlob(ref, options) {
      const checked = { ...checkErase(options), letGo: checkLetGo(options.letGo) };
      const hash = await findHash(engine, ref);
      if (hash === undefined || !(await engine.hasBlob(hash))) throw noBlob(ref);
      const { eraseBlobs } = await import('../maintain/erase-blobs.ts');
      const request = { ...checked, hashes: [hash], atMs: clock(), others: await otherSources() };
      return only(await eraseBlobs(engine, request));
    },
  };
}

function checkLetGo(letGo: unknown = []): readonly BlobNeed[] {
  const isNeed = (need: unknown): boolean =>
    typeof need === 'object' && need !== null && 'kind' in need && 'id' in need;
  if (Array.isArray(letGo) && letGo.every(isNeed)) return letGo as BlobNeed[];
  throw invalid('letGo', 'must be a list of kind and id, as in neededBy');
}

function checkErase(options: EraseOptions): Required<EraseOptions> {
  const { reason, everywhere = false } = options;
  checkBoolean(everywhere, 'everywhere');
  return { reason: checkBounded(reason, 'reason', REASON_BYTES_MAX), everywhere };
}
