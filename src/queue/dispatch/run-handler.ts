import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import type { Subscription } from '../queue.ts';
import { isGroupRunning, markOfChild } from './process-life.ts';
import type { ProcessMark } from './process-life.ts';

/** What is kept of a handler's output, for the log of a failure. */
const OUTPUT_CHARS = 1000;
const GROUP_POLL_MS = 100;

export interface HandlerEnd {
  readonly ok: boolean;
  /** Such as `exit 3` or `signal SIGKILL`. */
  readonly how: string;
  /** The end of what it printed. */
  readonly output: string;
}

/**
 * Runs a handler to its end and never throws. It is the leader of a process group of its own, and has ended when
 * the whole group has: what it left running in the background belongs to it.
 */
export async function runHandler(
  { consumer_id, handler_cmd }: Subscription,
  folder: string,
  started: (handler: ProcessMark) => void,
): Promise<HandlerEnd> {
  const cwd = process.cwd();
  const child = spawn(handler_cmd, {
    shell: true,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Where it was dispatched, unless that is gone.
    cwd: existsSync(cwd) ? cwd : folder,
    env: { ...process.env, THREAD_DIR: folder, THREAD_CONSUMER: consumer_id },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-OUTPUT_CHARS);
    });
    stream.on('error', () => undefined);
  }
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`not started: ${error.message}`));
    child.once('exit', (code, signal) =>
      resolve(signal === null ? `exit ${code ?? ''}` : `signal ${signal}`),
    );
  });
  const { pid } = child;
  const mark = pid === undefined ? undefined : markOfChild(pid);
  if (mark !== undefined) started(mark);
  const how = await ended;
  // Gone with its group, as most are, or after what it left behind.
  while (mark !== undefined && isGroupRunning(mark)) await setTimeout(GROUP_POLL_MS);
  child.stdout.destroy();
  child.stderr.destroy();
  return { ok: how === 'exit 0', how, output: output.trim() };
}
