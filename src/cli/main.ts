#!/usr/bin/env node
import { mkdirSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { processStreams, readVersion } from './kit/process.ts';

// Imports little: what is loaded here is compiled anew each time, and a question for the version waits for no more.

const [first, ...rest] = process.argv.slice(2);
if (rest.length === 0 && (first === '--version' || first === '-V')) {
  await processStreams().out(`${readVersion()}\n`);
} else {
  keepCompiledCode();
  await import('./start.ts');
}

/** From Node 22.1 on. The types of Node 20 do not declare it. */
interface ModuleWithCache {
  enableCompileCache?(folder: string): unknown;
}

/**
 * Lets Node keep the compiled form of what is imported from now on. Its own place is the folder for temporary files,
 * where other users might put code of theirs in its place; so this is the user's own cache.
 */
function keepCompiledCode(): void {
  const cached = module as ModuleWithCache;
  if (cached.enableCompileCache === undefined) return;
  const { XDG_CACHE_HOME: cache = join(homedir(), '.cache') } = process.env;
  const folder = join(cache, 'quipu', 'compiled');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    cached.enableCompileCache(folder);
  } catch {
    // A home that cannot be written to costs a few milliseconds.
  }
}
