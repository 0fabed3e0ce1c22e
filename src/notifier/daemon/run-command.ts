import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import type { Duplex, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Task } from '../spool/task.ts';
import { OutputTail } from './output-tail.ts';

// One run of a task's command, in a process group of its own.
//
// The shell first waits at a gate, a line on descriptor 3. The daemon opens the gate when it has written down the
// process. If the daemon dies before that, the shell reads the end of the pipe instead and exits. So no command ever
// runs that the next daemon could not find.

const GATE = 'IFS= read -r go <&3 || exit 125; exec 3<&- 2>&1; exec /bin/sh -c "$1"';
const OUTPUT_BYTES = 64 * 1024;
/** The output is still read for this long after the shell's end: other processes may have the pipe open for ever. */
const DRAIN_MS = 100;

export interface Ended {
  /** `start`: the command was never begun; `output` says why. */
  readonly reason: 'exit' | 'signal' | 'start';
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly output: string;
  readonly omittedBytes: number;
}

export interface RunningCommand {
  readonly pid: number;
  /** Lets the command begin. */
  begin(): void;
  /** Sends the signal to every process of the group. */
  kill(signal: 'SIGTERM' | 'SIGKILL'): void;
  readonly ended: Promise<Ended>;
}

/** The machine is short of something. The task is not to blame, and can be begun later. */
const SHORTAGES = new Set(['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE']);

/** Starts the shell and holds it at the gate. A string is the reason why this task cannot be started at all. */
export async function startCommand(task: Task, runId: string): Promise<RunningCommand | string> {
  if (!isFolder(task.cwd)) return `the working directory ${task.cwd} is gone`;
  let child: ChildProcess;
  try {
    child = await spawnShell(task, runId);
  } catch (error) {
    if (SHORTAGES.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return (error as Error).message;
  }
  return watchChild(child);
}

async function spawnShell(task: Task, runId: string): Promise<ChildProcess> {
  const child = spawn('/bin/sh', ['-c', GATE, 'notifier', task.command], {
    cwd: task.cwd,
    env: { ...task.env, NOTIFIER_TASK_ID: task.id, NOTIFIER_RUN_ID: runId },
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  return child;
}

function watchChild(child: ChildProcess): RunningCommand {
  // The process was spawned, so it has a number.
  const pid = child.pid as number;
  const output = new OutputTail(OUTPUT_BYTES);
  const stdout = child.stdio[1] as Readable;
  const gate = child.stdio[3] as Duplex;
  stdout.on('data', (piece: Buffer) => output.push(piece));
  stdout.on('error', () => undefined);
  // The shell may be gone before the gate is opened.
  gate.on('error', () => undefined);
  gate.resume();
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const exited = new Promise<[number | null, string | null]>((resolve) =>
    child.once('exit', (code, signal) => resolve([code, signal])),
  );
  const ended = (async (): Promise<Ended> => {
    const [exitCode, signal] = await exited;
    await Promise.race([closed, sleep(DRAIN_MS)]);
    stdout.destroy();
    gate.destroy();
    const reason = signal === null ? 'exit' : 'signal';
    return { reason, exitCode, signal, output: output.text, omittedBytes: output.omittedBytes };
  })();
  return {
    pid,
    begin: () => {
      gate.end('go\n');
    },
    kill: (signal) => killGroup(pid, signal),
    ended,
  };
}

export function killGroup(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // No process is left, or all that are left run as another user.
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
