import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { runThread } from '../../src/cli/thread/program.ts';

export const SUBSCRIBE: readonly string[] = ['--consumer', 'w', '--handler', 'true'];
export const PUSH: readonly string[] = ['--source', 'self', '--type', 'message', '--content', 'x'];

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs commands of `thread` in this process, in a folder of its own. */
export class Rig {
  readonly cwd: string = mkdtempSync(join(tmpdir(), 'quipu-run-thread-'));

  constructor() {
    onTestFinished(() => rmSync(this.cwd, { recursive: true, force: true }));
  }

  async feed(input: string | Uint8Array, ...argv: string[]): Promise<Ran> {
    let out = '';
    let err = '';
    const code = await runThread(argv, {
      out: async (data) => {
        out += data;
      },
      err: (text) => {
        err += text;
      },
      stdin: pieces(Buffer.from(input)),
      // Says that the task is queued, and does nothing.
      env: { ...process.env, THREAD_NOTIFIER: '/bin/true', NOTIFIER_HOME: join(this.cwd, 'spool') },
      cwd: this.cwd,
      script: 'thread',
      execPath: process.execPath,
    });
    return { code, out, err };
  }

  run(...argv: string[]): Promise<Ran> {
    return this.feed('', ...argv);
  }

  /** On the thread `t`. */
  on(command: string, ...argv: string[]): Promise<Ran> {
    return this.run(command, '--thread', 't', ...argv);
  }
}

async function* pieces(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  for (let start = 0; start < bytes.length; start += 70_000)
    yield bytes.subarray(start, start + 70_000);
}

/** With the thread `t`. */
export async function start(): Promise<Rig> {
  const rig = new Rig();
  await rig.run('init', 't');
  return rig;
}
