import { remoteVerbs } from '../client/remote-verbs.ts';
import type { RemoteEngine } from '../client/remote-engine.ts';
import { readPage } from '../context/turns/read-pages.ts';
import type { StoreElsewhere } from '../store/store-elsewhere.ts';
import type { Host } from './host.ts';

/** Verbs that need the data at hand. They run here once this process owns the data, and in the owner until then. */
export function hostedVerbs(host: Host, remote: RemoteEngine): StoreElsewhere {
  const there = remoteVerbs(remote);
  return {
    readPage: (request, read) =>
      host.owned === undefined
        ? there.readPage(request, read)
        : readPage(host.owned.engine, request, read),
    gc: (options) => (host.owned?.store.maintain ?? there).gc(options),
    retain: (policy, options) => (host.owned?.store.maintain ?? there).retain(policy, options),
    eraseTurn: (turn, options) =>
      host.owned === undefined
        ? there.eraseTurn(turn, options)
        : host.owned.store.contexts.erase(turn, options),
    eraseBlob: (ref, options) =>
      host.owned === undefined
        ? there.eraseBlob(ref, options)
        : host.owned.store.blobs.erase(ref, options),
  };
}
