#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { programFile } from '../base/program-file.ts';
import { processStreams } from '../cli/kit/process.ts';
import { localZoneName } from './daemon/cron.ts';
import { runNotifier } from './program.ts';
import type { NotifierShell } from './nouns/command.ts';

// The only file of the command that knows which process it runs in.

const shell: NotifierShell = {
  ...processStreams(),
  env: process.env,
  cwd: process.cwd(),
  userHome: homedir(),
  get zone() {
    return localZoneName();
  },
  platform: process.platform,
  programs: {
    node: process.execPath,
    notifier: fileURLToPath(programFile('notifier/main.js')),
    thread: fileURLToPath(programFile('cli/thread/main.js')),
  },
  now: Date.now,
  async spawn(argv, log) {
    const file = openSync(log, 'a', 0o600);
    try {
      const child = spawn(
        process.execPath,
        [fileURLToPath(programFile('notifier/main.js')), ...argv],
        {
          // The daemon does not use the caller's folder: that folder may be deleted or unmounted while the daemon lives.
          cwd: dirname(log),
          detached: true,
          stdio: ['ignore', file, file],
        },
      );
      await new Promise<void>((resolve, reject) => {
        child.once('spawn', () => resolve());
        child.once('error', reject);
      });
      child.unref();
    } finally {
      closeSync(file);
    }
  },
  catchInterrupt() {
    const controller = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => controller.abort());
    }
    return controller.signal;
  },
};

// The daemon waits for files to appear, and no timer or socket keeps the process alive meanwhile.
const alive = setInterval(() => undefined, 1 << 30);
process.exitCode = await runNotifier(process.argv.slice(2), shell);
clearInterval(alive);
