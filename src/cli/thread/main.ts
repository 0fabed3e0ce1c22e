#!/usr/bin/env node
import process from 'node:process';
import { processStreams } from '../kit/process.ts';
import { runThread } from './program.ts';
import type { ThreadShell } from './verbs.ts';

// The only file of `thread` that knows it runs in a process.

let stdinUsed = false;

const shell: ThreadShell = {
  ...processStreams(),
  get stdin() {
    stdinUsed = true;
    return process.stdin;
  },
  env: process.env,
  cwd: process.cwd(),
  script: process.argv[1] ?? '',
  execPath: process.execPath,
};

process.exitCode = await runThread(process.argv.slice(2), shell);
// Input that is still open must not keep the process alive.
if (stdinUsed) process.stdin.destroy();
