import type { RemoteEngine } from '../client/remote-engine.ts';
import { remoteVerbs } from '../client/remote-verbs.ts';
import { readPage } from '../context/turns/read-pages.ts';
import type { StoreElsewhere } from '../store/store.ts';
import { forwarding } from './host.ts';
import type { Host } from './host.ts';
import type { OwnedStore } from './owned-store.ts';

/** Verbs that need the data at hand. They run here once this process owns the data, and in the owner until then. */
export function hostedVerbs(host: Host, remote: RemoteEngine): StoreElsewhere {
  const there = remoteVerbs(remote);
  return forwarding(
    () => (host.owned === undefined ? there : verbsOf(host.owned)),
    ['readPage', 'gc', 'retain', 'eraseTurn', 'eraseBlob', 'search'],
  );
}

function verbsOf({ engine, store }: OwnedStore): StoreElsewhere {
  const { maintain, contexts, blobs } = store;
  return {
    readPage: (request, read) => readPage(engine, request, read),
    gc: (options) => maintain.gc(options),
    retain: (policy, options) => maintain.retain(policy, options),
    eraseTurn: (turn, options) => contexts.erase(turn, options),
    eraseBlob: (ref, options) => blobs.erase(ref, options),
    search: (query, options) => store.search(query, options),
  };
}
