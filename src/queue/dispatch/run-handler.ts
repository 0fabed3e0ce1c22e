import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { existsSync } from 'node:fs';
import process from 'node:process';
import type { Readable, Writable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
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

export interface HandlerCommand {
  /** For the shell. */
  readonly command: string;
  /** Where it runs when the folder of this process is gone. */
  readonly folder: string;
  /** More for its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether it is killed, with all that it started, when this process is gone. */
  readonly guarded?: boolean;
}

/**
 * Runs the handler beside one who reads a pipe that nobody writes to. It ends with this process, and then the whole
 * group is killed.
 */
const GUARDED = `
exec 3<&0 </dev/null
sh -c "$1" 3<&- & handler=$!
(read -r nothing <&3; kill -KILL 0) & guard=$!
exec 3<&-
wait "$handler"; ended=$?
kill "$guard"
exit "$ended"`;

/**
 * Runs a handler to its end and never throws. It is the leader of a process group of its own, and has ended when
 * the whole group has: what it left running in the background belongs to it.
 */
export async function runHandler(
  handler: HandlerCommand,
  started: (handler: ProcessMark) => void,
): Promise<HandlerEnd> {
  const child = start(handler);
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
  child.stdin?.destroy();
  child.stdout.destroy();
  child.stderr.destroy();
  return { ok: how === 'exit 0', how, output: output.trim() };
}

type Handler = ChildProcessByStdio<Writable | null, Readable, Readable>;

function start({ command, folder, env, guarded = false }: HandlerCommand): Handler {
  const cwd = process.cwd();
  const options = {
    detached: true,
    // Where it was dispatched, unless that is gone.
    cwd: existsSync(cwd) ? cwd : folder,
    env: { ...process.env, ...env },
  };
  if (!guarded || process.platform === 'win32') {
    return spawn(command, { ...options, shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
  }
  const child = spawn('/bin/sh', ['-c', GUARDED, 'sh', command], {
    ...options,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => undefined);
  return child;
}

/** Kills a handler and all that it started. */
export function killHandler({ pid }: ProcessMark): void {
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
