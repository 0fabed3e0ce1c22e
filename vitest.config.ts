import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { PATIENCE } from './src/testing/patience.ts';
import { CountReporter } from './test/support/count-reporter.ts';
import { LongestFirst } from './test/support/longest-first.ts';
import { scratchFolder } from './test/support/scratch-folder.ts';

/** In need of a process of their own: they measure its memory or set its clock. */
const ALONE = [
  'src/server/binary/reply-queue.test.ts',
  'src/session/sink/output-sink.test.ts',
  'src/wire/frame-reader.test.ts',
  'test/hostile/decoders.test.ts',
  'test/service/http-flood.test.ts',
  'test/service/http-slow-readers.test.ts',
  'test/service/socket-flood.test.ts',
  'test/wire/fuzz.test.ts',
  'test/newer-node/suites.test.ts',
];

/** On the real disk: what is killed there, what is large, and what is measured. */
const ON_DISK = [
  'test/bench/**/*.test.ts',
  'test/crash/kill-9.test.ts',
  'test/queue/disk-faults.test.ts',
  'test/scale/**/*.test.ts',
];
const IN_MEMORY = { TMPDIR: scratchFolder() };

const config: ViteUserConfig = defineConfig({
  test: {
    // One more than processors: many tests wait, for a disk or for another process.
    maxWorkers: 3,
    globalSetup: ['test/support/build-when-stale.ts'],
    reporters: ['default', new CountReporter()],
    sequence: { sequencer: LongestFirst },
    // Each project would transform the same sources again: a tenth of the time of a run, more of a second one.
    experimental: { fsModuleCache: true },
    // What was built is plain JavaScript for Node.
    server: { deps: { external: [/\/dist\//] } },
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: ['src/**/*.test.ts', 'web/src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['test/soak/**', 'test/postgres/**', 'test/browser/**', ...ALONE, ...ON_DISK],
          env: IN_MEMORY,
          // They leave nothing behind, and loading the same modules for each of them took longer than the tests.
          isolate: false,
        },
      },
      {
        extends: true,
        test: { name: 'apart', include: [...ALONE, ...ON_DISK, 'test/browser/**/*.test.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: ['test/postgres/**/*.test.ts'],
          globalSetup: ['test/support/postgres/shared-server.ts'],
          isolate: false,
        },
      },
    ],
    // Native modules and open files are let go by the end of a process, not by the end of a thread.
    pool: 'forks',
    // Stores are opened by the thousand: collecting the young heap less often saves a tenth of the time.
    execArgv: ['--max-semi-space-size=32'],
    // Only against what never ends: on a busy machine loading the modules alone may take seconds.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: PATIENCE },
  },
});

export default config;
