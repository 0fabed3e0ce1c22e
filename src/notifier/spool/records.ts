import { isFields, parseJsonObject, type Fields } from '../../base/fields.ts';
import { invalid, tooLarge } from '../../base/errors.ts';

/** A command that is to be run once, as the process that asked for it would have run it. */
export interface Task {
  readonly id: string;
  readonly author: string;
  readonly command: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly addedAt: number;
  /** After this long the task is killed and has failed. */
  readonly timeoutMs?: number;
}

/** A record of a run that failed. */
export interface Failure {
  /** `exit`: a code other than 0. `start`: the command could not be started. */
  readonly reason: 'exit' | 'signal' | 'timeout' | 'start';
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Standard output and standard error in the order they came. Of a long output, only the end is kept. */
  readonly output: string;
  /** Bytes of output that were left out before its end. */
  readonly omittedBytes: number;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly runId: string;
}

export interface FailedTask extends Task {
  readonly failure: Failure;
}

/** The fields that the caller of the command line gives. The rest is recorded from the caller's surroundings. */
export type NewTask = Omit<Task, 'addedAt'>;

/** An argument of a program may have 128 KiB on Linux; the shell that runs the command gets the command as one. */
const MAX_COMMAND_BYTES: number = 100 * 1024;
/** More tasks are refused: then nobody is working them off. */
export const MAX_PENDING = 10_000;
const MAX_AUTHOR_CHARS = 4096;

/** The id is the name of a file. */
export function checkId(what: string, id: string, maxChars = 128): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(id) && id.length <= maxChars) return id;
  throw invalid(
    what,
    `must have 1 to ${maxChars} letters, digits, ".", "_" and "-", beginning with a letter or digit; got ${JSON.stringify(id.slice(0, 200))}`,
  );
}

export function checkCommand(command: string): string {
  if (command.trim() === '') throw invalid('command', 'is empty');
  if (command.includes('\0')) throw invalid('command', 'has a zero byte');
  const size = Buffer.byteLength(command);
  if (size <= MAX_COMMAND_BYTES) return command;
  throw tooLarge(
    'command',
    MAX_COMMAND_BYTES,
    size,
    `the command has ${size} bytes, more than ${MAX_COMMAND_BYTES}; put it into a script`,
  );
}

export function checkAuthor(author: string): string {
  if (author.length <= MAX_AUTHOR_CHARS) return author;
  throw invalid('author', `is longer than ${MAX_AUTHOR_CHARS} characters`);
}

/** A task that is added at the times a cron line names. */
export interface Timer extends Omit<Task, 'timeoutMs'> {
  readonly cron: string;
  /** The cron line means the clocks of this zone. */
  readonly zone: string;
}

/** Shorter than the id of a task by the prefix that `taskIdOf` adds. */
export const MAX_TIMER_ID_CHARS = 122;
/** More timers are refused: the daemon looks at each of them every second. */
export const MAX_TIMERS = 1000;

/** The id of the tasks that a timer adds: one at a time is pending, however long they wait. */
export function taskIdOf(timer: Timer): string {
  return `timer-${timer.id}`;
}

// The records of the spool as text: one JSON object and a line feed (docs/format/notifier.md). Reading checks every
// field, because anyone may have put a file there. Undefined stands for a record that makes no sense.

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
  const fields = parseJsonObject(text);
  return fields && readTask(fields);
}

export function decodeFailedTask(text: string): FailedTask | undefined {
  const fields = parseJsonObject(text);
  const task = fields && readTask(fields);
  const failure = fields?.['failure'];
  if (task === undefined || !isFields(failure)) return undefined;
  const { reason, exitCode, signal, output, omittedBytes, startedAt, endedAt, runId } = failure;
  const sound =
    ['exit', 'signal', 'timeout', 'start'].includes(reason as string) &&
    (exitCode === null || isNumber(exitCode)) &&
    (signal === null || isText(signal)) &&
    [output, runId].every(isText) &&
    [omittedBytes, startedAt, endedAt].every(isNumber);
  return sound ? { ...task, failure: failure as unknown as Failure } : undefined;
}

export function decodeTimer(text: string): Timer | undefined {
  const fields = parseJsonObject(text);
  const task = fields && readTask(fields);
  const { cron, zone } = fields ?? {};
  if (task === undefined || !isText(cron) || !isText(zone)) return undefined;
  const { timeoutMs: _, ...rest } = task;
  return { ...rest, cron, zone };
}

export function decodeRun(text: string): Run | undefined {
  const { runId, pid, startedAt } = parseJsonObject(text) ?? {};
  if (!isText(runId) || !isNumber(startedAt)) return undefined;
  // A signal to "process" 0, 1 or a negative one would reach others.
  return Number.isSafeInteger(pid) && (pid as number) > 1
    ? { runId, pid: pid as number, startedAt }
    : undefined;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number';

function readTask(fields: Fields): Task | undefined {
  const { id, author, command, cwd, env, addedAt, timeoutMs } = fields;
  const sound =
    [id, author, command, cwd].every(isText) &&
    isFields(env) &&
    Object.values(env).every(isText) &&
    isNumber(addedAt) &&
    (timeoutMs === undefined || isNumber(timeoutMs));
  if (!sound) return undefined;
  const task = { id, author, command, cwd, env, addedAt } as Task;
  return isNumber(timeoutMs) ? { ...task, timeoutMs } : task;
}
