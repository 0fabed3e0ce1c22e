import { describeDeepThread } from './deep-thread.ts';

// A million of them are a soak, and a row of the benchmarks.
describeDeepThread(100_000);
