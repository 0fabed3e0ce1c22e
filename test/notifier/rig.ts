import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runNotifier } from '../../src/notifier/program.ts';
import { projectPath } from '../support/project.ts';

const PROGRAM = projectPath('dist/notifier/main.js');

/** Whether the process still does anything; one that only waits to be reaped does not. */
export function isAlive(pid: string | undefined): boolean {
  const path = `/proc/${pid}/stat`;
  return existsSync(path) && !/\) [ZX] /.test(readFileSync(path, 'utf8'));
}

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A spool in a folder of its own, with the real program. What still runs is stopped at the end. */
export class NotifierRig implements AsyncDisposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'quipu-notifier-'));
  readonly home: string = join(this.folder, 'spool');
  readonly env: Record<string, string>;
  /** What `run` was asked to start in the background. */
  readonly spawned: (readonly string[])[] = [];
  platform = 'linux';
  now: number = Date.parse('2026-11-16T08:00:00Z');

  constructor(env: Record<string, string> = {}) {
    this.env = { PATH: process.env['PATH'] ?? '', NOTIFIER_HOME: this.home, ...env };
  }

  /** In a process of its own. */
  exec(...argv: string[]): Promise<Ran> {
    return new Promise((resolve) => {
      const options = { cwd: this.folder, env: this.env };
      const child = execFile(process.execPath, [PROGRAM, ...argv], options, (_error, out, err) =>
        resolve({ code: child.exitCode ?? -1, out, err }),
      );
    });
  }

  /** In this process; no daemon is started. */
  async run(...argv: string[]): Promise<Ran> {
    let out = '';
    let err = '';
    const code = await runNotifier(argv, {
      out: async (text) => {
        out += text;
      },
      err: (text) => {
        err += text;
      },
      env: this.env,
      cwd: this.folder,
      userHome: this.folder,
      zone: 'UTC',
      platform: this.platform,
      programs: {
        node: '/usr/bin/node',
        notifier: '/opt/a b/notifier.js',
        thread: '/opt/a b/thread.js',
      },
      now: () => this.now,
      spawn: async (words) => {
        this.spawned.push(words);
      },
      catchInterrupt: () => new AbortController().signal,
    });
    return { code, out, err };
  }

  /** A daemon as a child of this process, to be killed. */
  async daemon(...options: string[]): Promise<{ pid: number; kill(): Promise<void> }> {
    const argv = [PROGRAM, 'start', '--foreground', ...options];
    const child = spawn(process.execPath, argv, {
      cwd: this.folder,
      env: this.env,
      stdio: 'ignore',
    });
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    await this.until(async () => {
      const { out } = await this.run('status', '--json');
      return (JSON.parse(out) as { daemon: { pid?: number } | null }).daemon?.pid === child.pid;
    });
    return {
      pid: child.pid!,
      kill: async () => {
        child.kill('SIGKILL');
        await gone;
      },
    };
  }

  async until(holds: () => boolean | Promise<boolean>, timeoutMs = 15_000): Promise<void> {
    for (const end = Date.now() + timeoutMs; !(await holds()); await sleep(15)) {
      if (Date.now() > end)
        throw new Error(`still waiting for ${String(holds)}\n${this.read('spool/notifier.log')}`);
    }
  }

  read(name: string): string {
    const path = join(this.folder, name);
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }

  write(name: string, text = ''): void {
    writeFileSync(join(this.folder, name), text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.now = Date.now();
    await this.run('stop');
    // A daemon that came second may be about to begin or to leave, and write a file meanwhile.
    await this.until(() => {
      try {
        rmSync(this.folder, { recursive: true, force: true });
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOTEMPTY') return false;
        throw error;
      }
    });
  }
}
