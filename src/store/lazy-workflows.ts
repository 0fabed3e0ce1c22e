import type { Workflows } from '../workflow/threads/workflows.ts';

/** Workflows whose modules are loaded by the first call: most processes never make one. */
export function lazyWorkflows(load: () => Promise<Workflows>): Workflows {
  return {
    bundles: {
      add: async (...given) => (await load()).bundles.add(...given),
      list: async () => (await load()).bundles.list(),
      get: async (...given) => (await load()).bundles.get(...given),
      describe: async (...given) => (await load()).bundles.describe(...given),
      source: async (...given) => (await load()).bundles.source(...given),
      history: async (...given) => (await load()).bundles.history(...given),
      rollback: async (...given) => (await load()).bundles.rollback(...given),
      remove: async (...given) => (await load()).bundles.remove(...given),
    },
    start: async (...given) => (await load()).start(...given),
    step: async (...given) => (await load()).step(...given),
    end: async (...given) => (await load()).end(...given),
    fork: async (...given) => (await load()).fork(...given),
    compact: async (...given) => (await load()).compact(...given),
    remove: async (...given) => (await load()).remove(...given),
    get: async (...given) => (await load()).get(...given),
    list: async (...given) => (await load()).list(...given),
    steps: async (...given) => (await load()).steps(...given),
    context: async (...given) => (await load()).context(...given),
    info: async (...given) => (await load()).info(...given),
    live: (...given) => later(async () => (await load()).live(...given)),
    watchIndex: (...given) => later(async () => (await load()).watchIndex(...given)),
    findReachableHashes: async (...given) => (await load()).findReachableHashes(...given),
    run: async (...given) => (await load()).run(...given),
    resume: async (...given) => (await load()).resume(...given),
    pause: async (...given) => (await load()).pause(...given),
    kill: async (...given) => (await load()).kill(...given),
  };
}

async function* later<T>(
  source: () => Promise<AsyncIterable<T>>,
): AsyncGenerator<T, void, undefined> {
  yield* await source();
}
