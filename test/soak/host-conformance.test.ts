import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { Engine } from '../../src/engine/engine.ts';
import { openHosted } from '../../src/host/host.ts';
import type { Hosted } from '../../src/host/host.ts';
import { createStore } from '../../src/store/create-store.ts';
import { contextsSuite } from '../../src/testing/contexts-suite/contexts-suite.ts';
import { engineSuite } from '../../src/testing/engine-suite/engine-suite.ts';
import type { EngineOpening } from '../../src/testing/engine-suite/engine-target.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

// Long, and near to what the client over a Unix socket shows: so it is a soak.
// A folder that another process owns, here played by an opening before it: everything goes over its socket.

const RANDOM_RUNS = 3;
const root = freshFolder('quipu-host-', afterAll);
let count = 0;

/** The second of two openings of a fresh folder. Closing it closes both. */
async function openSecond(opening: EngineOpening = {}): Promise<Hosted> {
  count += 1;
  const folder = join(root, String(count));
  // What the disk does is tried without anyone in between.
  const options = { durability: 'unsafe', timeoutMs: 10_000, ...opening } as const;
  const first = await openHosted(folder, options);
  const second = await openHosted(folder, options);
  return { ...second, engine: closingBoth(second.engine, first.engine) };
}

function closingBoth(engine: Engine, owner: Engine): Engine {
  const close = engine.close.bind(engine);
  return Object.assign(engine, {
    close: async () => {
      await close();
      await owner.close();
    },
  });
}

engineSuite({
  name: 'a folder that another process owns',
  randomRuns: RANDOM_RUNS,
  capabilities: {
    reopen: { missing: 'a client does not own the data' },
    reindex: true,
    backup: true,
    collection: { missing: 'collections run where the data is' },
    adoption: { missing: 'a store is copied where its data is' },
  },
  open: async (opening) => (await openSecond(opening)).engine,
});

contextsSuite({
  name: 'a folder that another process owns',
  randomRuns: RANDOM_RUNS,
  open: async (options) => {
    const { engine, elsewhere } = await openSecond();
    return createStore(engine, { ...options, ...(elsewhere !== undefined && { elsewhere }) });
  },
});
