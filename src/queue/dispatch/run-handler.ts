import { execFileSync, spawn, type ChildProcessByStdio } from 'node:child_process';
import { readFileSync, readdirSync, existsSync } from 'node:fs';
import process from 'node:process';
import type { Readable, Writable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';

// Tells whether a process is still the same one. Its number alone does not prove it: the system gives numbers again,
// and after a restart of the machine from the beginning. The number together with the start time and the boot is
// unique.

export interface ProcessMark {
  readonly pid: number;
  /** Differs for every process that ever has the number. Empty where the system does not tell. */
  readonly started: string;
}

/** Returns undefined when there is no such process. */
export function markOf(pid: number): ProcessMark | undefined {
  if (process.platform === 'linux') {
    const stat = readStat(String(pid));
    if (stat === undefined || stat.state === 'Z' || stat.state === 'X') return undefined;
    return { pid, started: `${bootId()}/${stat.startedTicks}` };
  }
  if (!isThere(pid)) return undefined;
  return { pid, started: process.platform === 'win32' ? '' : startFromPs(pid) };
}

/**
 * The mark of a child that was started just now. The child may have ended since, as long as nobody has collected it.
 */
export function markOfChild(pid: number): ProcessMark {
  const stat = process.platform === 'linux' ? readStat(String(pid)) : undefined;
  if (stat !== undefined) return { pid, started: `${bootId()}/${stat.startedTicks}` };
  return markOf(pid) ?? { pid, started: '' };
}

export function isRunning(mark: ProcessMark): boolean {
  const now = markOf(mark.pid);
  return now !== undefined && (mark.started === '' || now.started === mark.started);
}

/** Returns whether any process of the group that `leader` began is left, also after the leader is gone. */
export function isGroupRunning(leader: ProcessMark): boolean {
  const now = markOf(leader.pid);
  if (now !== undefined) return leader.started === '' || now.started === leader.started;
  if (process.platform === 'win32' || !isThere(-leader.pid)) return false;
  if (process.platform !== 'linux') return true;
  if (!leader.started.startsWith(`${bootId()}/`)) return false;
  // A dead process that nobody has collected still has its group, in some containers for ever.
  return readdirSync('/proc').some((name) => {
    if (!/^[0-9]+$/.test(name)) return false;
    const stat = readStat(name);
    return stat?.group === leader.pid && stat.state !== 'Z' && stat.state !== 'X';
  });
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

interface Stat {
  readonly state: string;
  readonly group: number;
  readonly startedTicks: string;
}

function readStat(pid: string): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The program's name stands in parentheses and may hold any character, also parentheses.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state = '', , group = ''] = fields;
    return { state, group: Number(group), startedTicks: fields[19] ?? '' };
  } catch {
    // The process has ended.
    return undefined;
  }
}

let boot: string | undefined;

function bootId(): string {
  boot ??= readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  return boot;
}

function startFromPs(pid: number): string {
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    // Without `ps` only the number is known.
    return '';
  }
}

/** The log of a failure keeps this much of the handler's output, and the queue this much of the failure. */
const OUTPUT_CHARS = 1000;
const ERROR_CHARS = 500;
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

/** What is to be noted of a consumer after a failed run. */
export interface FailedRun {
  readonly failures: number;
  readonly failed: boolean;
  readonly lastError: string;
  /** Null: the consumer is marked failed and waits for a new event. */
  readonly retryInMs: number | null;
  /** The reason and what comes next, for people. */
  readonly text: string;
}

/** A consumer that is marked failed has one try; the result of that try decides. */
export function afterFailure(
  { how, output }: HandlerEnd,
  before: Pick<FailedRun, 'failures' | 'failed'>,
  progressed: boolean,
  retry: RetryPolicy,
): FailedRun {
  const failures = progressed ? 1 : before.failures + 1;
  const failed = (before.failed && !progressed) || failures >= retry.attempts;
  const reason = output === '' ? how : `${how}: ${output}`;
  const retryInMs = failed ? null : pauseMs(retry, failures);
  const next = failed ? 'marked failed, events wait' : `again in ${retryInMs} ms`;
  const lastError = reason.slice(0, ERROR_CHARS);
  return { failures, failed, lastError, retryInMs, text: `${reason}; ${next}` };
}
