import { remoteVerbs } from '../../src/client/remote-verbs.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { createStore } from '../../src/store/create-store.ts';
import { contextsSuite } from '../../src/testing/contexts-suite/contexts-suite.ts';
import { engineSuite } from '../../src/testing/engine-suite/engine-suite.ts';
import type { EngineOpening } from '../../src/testing/engine-suite/engine-target.ts';
import { connectTo } from './serve-engine.ts';
import type { Way } from './serve-engine.ts';

/** The engines and stores behind go through more by themselves; here it is about the way between. */
const RANDOM_RUNS = 1;

/** Opens a fresh engine for a server to serve. */
export type OpenServed = (opening?: EngineOpening) => Promise<Engine>;

/** All that an engine and a store must do, done through a client over a live server. */
export function clientSuites(name: string, way: Way, openServed: OpenServed): void {
  engineSuite({
    name: `${name} over ${way}`,
    randomRuns: RANDOM_RUNS,
    capabilities: {
      reopen: { missing: 'a client does not own the data' },
      reindex: true,
      backup: true,
      collection: { missing: 'collections run where the data is' },
      adoption: { missing: 'a store is copied where its data is' },
    },
    open: async (opening) => connectTo(await openServed(opening), way),
  });

  contextsSuite({
    name: `${name} over ${way}`,
    randomRuns: RANDOM_RUNS,
    open: async (options) => {
      const engine = await connectTo(await openServed(), way);
      return createStore(engine, { ...options, elsewhere: remoteVerbs(engine) });
    },
  });
}
