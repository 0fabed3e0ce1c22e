import type { ReadPage } from '../context/turns/loaded-page.ts';
import type { StoreElsewhere } from '../store/store-elsewhere.ts';
import type { PackedPage } from '../wire/packed-turns.ts';
import type { RemoteEngine } from './remote-engine.ts';
import { unpackPage } from './unpack-page.ts';

/** The verbs that a store over this engine leaves to the server. */
export function remoteVerbs(engine: RemoteEngine): StoreElsewhere {
  const readPage: ReadPage = async (request, read) => {
    const page = await engine.call<PackedPage>('contexts.page', [request, read]);
    return unpackPage(page, (hash) => engine.getBlob(hash));
  };
  return {
    readPage,
    gc: ({ progress, ...options } = {}) => engine.work('maintain.gc', [options], progress),
    retain: (policy, { dryRun = false } = {}) => engine.work('maintain.retain', [policy, dryRun]),
    eraseTurn: (turn, options) => engine.work('contexts.erase', [turn, options]),
    eraseBlob: (ref, options) => engine.work('blobs.erase', [ref, options]),
  };
}
