#!/usr/bin/env node
import { homedir } from 'node:os';
import process from 'node:process';
import { openStore } from '../open-store.ts';
import { restoreStore } from '../restore-store.ts';
import { runCli } from './run-cli.ts';
import type { World } from './world.ts';

// The only file of the command line that knows it runs in a process.

let stdinUsed = false;

const world: World = {
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
  home: homedir(),
  isTerminal: process.stderr.isTTY,
  openStore,
  restoreStore,
  now: Date.now,
  catchInterrupt() {
    const controller = new AbortController();
    // Once only: a second Ctrl-C kills as usual.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => controller.abort());
    }
    return controller.signal;
  },
};

// A write to a closed pipe also rejects the promise in `out`, which is where it is dealt with.
process.stdout.on('error', () => undefined);
// There is nobody left to tell.
process.stderr.on('error', () => undefined);

// Waiting for a turn that someone else appends is work too, though no timer or socket shows it.
const alive = setInterval(() => undefined, 1 << 30);
process.exitCode = await runCli(process.argv.slice(2), world);
clearInterval(alive);
// Input that is still open must not keep the process alive.
if (stdinUsed) process.stdin.destroy();
