import { spawn, type ChildProcess } from 'node:child_process';
import { statSync } from 'node:fs';
import type { Duplex, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Failure, Task } from '../spool/records.ts';

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
  const found = statSync(task.cwd, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true) return `the working directory ${task.cwd} is gone`;
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

/** Keeps the end of a command's output: the last words of a command that fails say why. */
export class OutputTail {
  readonly #limit: number;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #omitted = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  push(piece: Buffer): void {
    // This copies the part to keep: a small slice would hold on to the whole buffer it was cut from.
    const kept = Buffer.from(piece.subarray(Math.max(0, piece.length - this.#limit)));
    this.#omitted += piece.length - kept.length;
    this.#pieces.push(kept);
    this.#bytes += kept.length;
    // Joining at twice the limit moves each byte once or twice, however small the pieces are.
    if (this.#bytes > 2 * this.#limit || this.#pieces.length > 1024) this.#shorten();
  }

  /** Bytes that were left out before the end. */
  get omittedBytes(): number {
    this.#shorten();
    return this.#omitted;
  }

  /** The output as text. Bytes that are not UTF-8 become replacement characters. */
  get text(): string {
    this.#shorten();
    return Buffer.concat(this.#pieces).toString('utf8');
  }

  #shorten(): void {
    const all = Buffer.concat(this.#pieces);
    const kept = Buffer.from(all.subarray(Math.max(0, all.length - this.#limit)));
    this.#omitted += all.length - kept.length;
    this.#pieces = [kept];
    this.#bytes = kept.length;
  }
}

/** Waits for the command's end. When its time is up, this asks its processes to end, and then kills them. */
export async function endRun(
  command: RunningCommand,
  limits: {
    readonly timeoutMs: number | undefined;
    readonly graceMs: number;
    readonly sleep: (ms: number) => Promise<void>;
  },
): Promise<Omit<Ended, 'reason'> & Pick<Failure, 'reason'>> {
  const { timeoutMs, graceMs, sleep } = limits;
  if (timeoutMs === undefined) return command.ended;
  const late = sleep(timeoutMs).then(() => undefined);
  const inTime = await Promise.race([command.ended, late]);
  if (inTime !== undefined) return inTime;
  command.kill('SIGTERM');
  await Promise.race([command.ended, sleep(graceMs)]);
  command.kill('SIGKILL');
  return { ...(await command.ended), reason: 'timeout' };
}
