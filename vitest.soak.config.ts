import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { PATIENCE } from './src/testing/patience.ts';
import { CountReporter } from './test/support/count-reporter.ts';

// Long runs: hours of faults and load that `npm test` has no time for.
const config: ViteUserConfig = defineConfig({
  test: {
    include: ['test/soak/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 6 * 60 * 60 * 1000,
    hookTimeout: 10 * 60 * 1000,
    expect: { poll: PATIENCE },
    globalSetup: ['test/support/build-when-stale.ts'],
    reporters: ['default', new CountReporter()],
  },
});

export default config;
