#!/usr/bin/env node
import process from 'node:process';
import { keepCompiledCode } from './kit/compile-cache.ts';
import { processStreams, readVersion } from './kit/process.ts';

// Imports little: what is loaded here is compiled anew each time, and a question for the version waits for no more.

const [first, ...rest] = process.argv.slice(2);
if (rest.length === 0 && (first === '--version' || first === '-V')) {
  await processStreams().out(`${readVersion()}\n`);
} else {
  keepCompiledCode();
  await import('./start.ts');
}
