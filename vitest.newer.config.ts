import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { PATIENCE } from './src/testing/patience.ts';
import { scratchFolder } from './test/support/scratch-folder.ts';

// What `test/newer-node` runs on a newer Node: the suites of engine, contexts, queues and commands, on `node:sqlite`
// and the zstd of `node:zlib`, and the adapter for the AI SDK with its newest major, which does not run on Node 20. The
// package is built by then.
const config: ViteUserConfig = defineConfig({
  resolve: { alias: [{ find: /^ai(?=\/|$)/, replacement: 'ai-next' }] },
  test: {
    include: [
      'src/base/{compress,sqlite}.test.ts',
      'src/cli/nouns/{context,queue,store}.test.ts',
      'src/engine/files/index/*.test.ts',
      'test/adapters/ai-sdk*.test.ts',
      'test/cli/{doctor,quipu}.test.ts',
      'test/conformance/files-{contexts,engine}.test.ts',
      'test/queue/{conformance,queue}.test.ts',
    ],
    isolate: false,
    maxWorkers: 1,
    env: { TMPDIR: scratchFolder(), AI_SDK_MAJOR: '7' },
    experimental: { fsModuleCache: true },
    server: { deps: { external: [/\/dist\//] } },
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: PATIENCE },
  },
});

export default config;
