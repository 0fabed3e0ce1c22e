import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { CountReporter } from './test/support/count-reporter.ts';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['test/soak/**'],
    // Native modules and open files are let go by the end of a process, not by the end of a thread.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    globalSetup: ['test/support/build-when-stale.ts'],
    reporters: ['default', new CountReporter()],
  },
});

export default config;
