import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { existsSync } from 'node:fs';
import process from 'node:process';
import type { Readable, Writable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { isGroupRunning, markOfChild, type ProcessMark } from './process-life.ts';

/** The log of a failure keeps this much of the handler's output. */
const OUTPUT_CHARS = 1000;
const GROUP_POLL_MS = 100;

export interface HandlerEnd {
  readonly ok: boolean;
  /** Such as `exit 3` or `signal SIGKILL`. */
  readonly how: string;
  /** The end of the handler's output. */
  readonly output: string;
}

interface HandlerCommand {
  /** The shell runs this command. */
  readonly command: string;
  /** The handler runs here when the folder of this process is gone. */
  readonly folder: string;
  /** More variables for its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether the handler, with all that it started, is killed when this process is gone. */
  readonly guarded?: boolean;
}

/**
 * Runs the handler beside a process that reads a pipe to which nobody writes. The pipe ends with this process, and then
 * the reader kills the whole group.
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
 * Runs a handler to its end and never throws. The handler is the leader of a process group of its own, and has ended
 * when the whole group has: processes that it left in the background belong to it.
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
  // Most handlers end with their group. Otherwise this waits for the processes that the handler left behind.
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
    // The handler runs where it was dispatched, unless that folder is gone.
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
    // The handler has ended already.
  }
}

/** Decides when a handler that failed is run again. */
export interface RetryPolicy {
  /**
   * The number of failed runs in a row, without an event acknowledged between, before the consumer is marked failed.
   */
  readonly attempts: number;
  readonly firstPauseMs: number;
  readonly maxPauseMs: number;
}

/** About a minute in all: a fault that lasts longer waits for the next push. */
export const RETRY_POLICY: RetryPolicy = { attempts: 10, firstPauseMs: 100, maxPauseMs: 30_000 };

/** The pause after this many failures in a row. */
export function pauseMs({ firstPauseMs, maxPauseMs }: RetryPolicy, failures: number): number {
  return Math.min(maxPauseMs, firstPauseMs * 2 ** (failures - 1));
}
