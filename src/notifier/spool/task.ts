import { QuipuError, invalid } from '../../base/errors.ts';

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
export const MAX_COMMAND_BYTES: number = 100 * 1024;
/** More tasks are refused: then nobody is working them off. */
export const MAX_PENDING = 10_000;
const MAX_AUTHOR_CHARS = 4096;

/** The id is the name of a file. */
export function checkId(what: string, id: string, maxChars = 128): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(id) && id.length <= maxChars) return id;
  throw invalid(
    what,
    `takes 1 to ${maxChars} letters, digits, ".", "_" and "-", beginning with a letter or digit; got ${JSON.stringify(id.slice(0, 200))}`,
  );
}

export function checkCommand(command: string): string {
  if (command.trim() === '') throw invalid('command', 'is empty');
  if (command.includes('\0')) throw invalid('command', 'has a zero byte');
  const size = Buffer.byteLength(command);
  if (size <= MAX_COMMAND_BYTES) return command;
  throw new QuipuError(
    'TOO_LARGE',
    `the command has ${size} bytes, more than ${MAX_COMMAND_BYTES}; put it into a script`,
    { what: 'command', limit: MAX_COMMAND_BYTES, size },
  );
}

export function checkAuthor(author: string): string {
  if (author.length <= MAX_AUTHOR_CHARS) return author;
  throw invalid('author', `is longer than ${MAX_AUTHOR_CHARS} characters`);
}
