import type { FailedTask, Failure, Task } from './task.ts';
import type { Timer } from './timer.ts';

// The records of the spool as text: one JSON object and a line feed (docs/format/notifier.md). Reading checks every
// field, because anyone may have put a file there. Undefined stands for a record that makes no sense.

type Fields = Readonly<Record<string, unknown>>;

/** The note of a running task, beside its record: enough to find its processes after the daemon died. */
export interface Run {
  readonly runId: string;
  /** The number of the process, and of its group. */
  readonly pid: number;
  readonly startedAt: number;
}

export function encodeRecord(record: Task | FailedTask | Timer | Run): string {
  return `${JSON.stringify(record)}\n`;
}

export function decodeTask(text: string): Task | undefined {
  const fields = parseObject(text);
  return fields && readTask(fields);
}

export function decodeFailedTask(text: string): FailedTask | undefined {
  const fields = parseObject(text);
  const task = fields && readTask(fields);
  const failure = toObject(fields?.['failure']);
  if (task === undefined || failure === undefined) return undefined;
  const { reason, exitCode, signal, output, omittedBytes, startedAt, endedAt, runId } = failure;
  const sound =
    ['exit', 'signal', 'timeout', 'start'].includes(reason as string) &&
    (exitCode === null || typeof exitCode === 'number') &&
    (signal === null || typeof signal === 'string') &&
    [output, runId].every((field) => typeof field === 'string') &&
    [omittedBytes, startedAt, endedAt].every((field) => typeof field === 'number');
  return sound ? { ...task, failure: failure as unknown as Failure } : undefined;
}

export function decodeTimer(text: string): Timer | undefined {
  const fields = parseObject(text);
  const task = fields && readTask(fields);
  const { cron, zone } = fields ?? {};
  if (task === undefined || typeof cron !== 'string' || typeof zone !== 'string') return undefined;
  const { timeoutMs: _, ...rest } = task;
  return { ...rest, cron, zone };
}

export function decodeRun(text: string): Run | undefined {
  const { runId, pid, startedAt } = parseObject(text) ?? {};
  if (typeof runId !== 'string' || typeof startedAt !== 'number') return undefined;
  // A signal to "process" 0, 1 or a negative one would reach others.
  return Number.isSafeInteger(pid) && (pid as number) > 1
    ? { runId, pid: pid as number, startedAt }
    : undefined;
}

function readTask(fields: Fields): Task | undefined {
  const { id, author, command, cwd, addedAt, timeoutMs } = fields;
  const env = toObject(fields['env']);
  if (typeof id !== 'string' || typeof author !== 'string') return undefined;
  if (typeof command !== 'string' || typeof cwd !== 'string') return undefined;
  if (typeof addedAt !== 'number' || env === undefined) return undefined;
  if (!Object.values(env).every((value) => typeof value === 'string')) return undefined;
  if (timeoutMs !== undefined && typeof timeoutMs !== 'number') return undefined;
  const task = { id, author, command, cwd, env: env as Record<string, string>, addedAt };
  return timeoutMs === undefined ? task : { ...task, timeoutMs };
}

function parseObject(text: string): Fields | undefined {
  try {
    return toObject(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function toObject(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : undefined;
}
