import { homedir } from 'node:os';
import { basename, relative } from 'node:path';
import process from 'node:process';
import { processStreams, thisMachine, widthOf } from './kit/process.ts';
import { runCli } from './program.ts';
import type { QuipuShell } from './kit/command.ts';

// The only file of the command line that knows it runs in a process, with machine.ts, which describes it. main.ts
// loads it.
// Code that loads native modules is imported on first use: `quipu doctor` must run where they do not load.

let stdinUsed = false;

/** The program's name as it was called, or as it can be called where it is not installed. */
function nameOfProgram(script: string): string {
  return basename(script) === 'quipu' ? 'quipu' : `node ${relative(process.cwd(), script)}`;
}

const shell: QuipuShell = {
  ...processStreams(),
  get stdin() {
    stdinUsed = true;
    return process.stdin;
  },
  env: process.env,
  cwd: process.cwd(),
  home: homedir(),
  isTerminal: process.stderr.isTTY,
  get columns() {
    return widthOf(process.stdout);
  },
  openStore: async (url, options) => (await import('../open-store.ts')).openStore(url, options),
  restoreStore: async (from, to, progress) =>
    (await import('../restore-store.ts')).restoreStore(from, to, progress),
  copyStore: async (from, to, options) =>
    (await import('../copy-store.ts')).copyStore(from, to, options),
  get machine() {
    return thisMachine();
  },
  program: nameOfProgram(process.argv[1] ?? ''),
  now: Date.now,
  catchInterrupt() {
    const controller = new AbortController();
    const signals = ['SIGINT', 'SIGTERM'] as const;
    const abort = (): void => {
      // The handler runs only once: a second signal kills as usual.
      for (const signal of signals) process.off(signal, abort);
      controller.abort();
    };
    for (const signal of signals) process.on(signal, abort);
    return controller.signal;
  },
};

// Waiting for a turn that someone else appends is work too, but no timer or socket keeps the process alive meanwhile.
const alive = setInterval(() => undefined, 1 << 30);
process.exitCode = await runCli(process.argv.slice(2), shell);
clearInterval(alive);
// Input that is still open must not keep the process alive.
if (stdinUsed) process.stdin.destroy();
