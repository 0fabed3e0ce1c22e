#!/usr/bin/env node
import process from 'node:process';
import { runThread } from './run-thread.ts';
import type { ThreadWorld } from './thread-world.ts';

// The only file of `thread` that knows it runs in a process.

let stdinUsed = false;

const world: ThreadWorld = {
  out: (data) =>
    new Promise((resolve, reject) => {
      process.stdout.write(data, (error) => {
        if (error) reject(error);
        else resolve();
      });
    }),
  err: (text) => {
    process.stderr.write(text);
  },
  get stdin() {
    stdinUsed = true;
    return process.stdin;
  },
  env: process.env,
  cwd: process.cwd(),
  script: process.argv[1] ?? '',
  execPath: process.execPath,
};

// A write to a closed pipe also rejects the promise in `out`, which is where it is dealt with.
process.stdout.on('error', () => undefined);
// There is nobody left to tell.
process.stderr.on('error', () => undefined);

process.exitCode = await runThread(process.argv.slice(2), world);
// Input that is still open must not keep the process alive.
if (stdinUsed) process.stdin.destroy();
