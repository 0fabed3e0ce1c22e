import { spawn, type ChildProcess } from 'node:child_process';

const OUTPUT_BYTES_MAX: number = 8 * 1024 * 1024;
const STDERR_BYTES_MAX: number = 4 * 1024;
/** The time between the request to end and the kill. */
const GRACE_MS = 2000;

interface CommandOptions {
  /** The text on standard input. */
  readonly input: string;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
  /** Receives the end of standard error, if there was any. */
  readonly onStderr?: (text: string) => void;
}

/**
 * Returns the output of a shell command. The command has a process group of its own, so that all it started ends with
 * it. An exit code other than 0, too much output, and a timeout are failures.
 */
export async function runCommand(command: string, options: CommandOptions): Promise<string> {
  const { input, signal, timeoutMs, cwd, env = {}, onStderr } = options;
  if (signal?.aborted === true) throw new RunFailure('the command was stopped before it began');
  const child = spawn('/bin/sh', ['-c', command], {
    detached: true,
    stdio: 'pipe',
    env: { ...process.env, ...env },
    ...(cwd !== undefined && { cwd }),
  });
  let stopped: string | undefined;
  let killing: NodeJS.Timeout | undefined;
  const stop = (reason: string): void => {
    if (stopped !== undefined) return;
    stopped = reason;
    killGroup(child, 'SIGTERM');
    killing = setTimeout(() => killGroup(child, 'SIGKILL'), GRACE_MS);
  };
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => stop(`took longer than ${timeoutMs} ms`), timeoutMs);
  const abort = (): void => stop('was stopped');
  signal?.addEventListener('abort', abort);
  try {
    const out: Buffer[] = [];
    let outBytes = 0;
    let stderr = '';
    child.stdout.on('data', (piece: Buffer) => {
      outBytes += piece.length;
      if (outBytes > OUTPUT_BYTES_MAX) stop(`printed more than ${OUTPUT_BYTES_MAX} bytes`);
      else out.push(piece);
    });
    child.stderr.on('data', (piece: Buffer) => {
      stderr = (stderr + piece.toString()).slice(-STDERR_BYTES_MAX);
    });
    // A command may end without having read everything.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    const code = await untilClosed(child);
    if (stderr !== '') onStderr?.(stderr);
    if (stopped !== undefined) throw new RunFailure(`the command ${stopped}`);
    const said = stderr.trim();
    const why = said === '' ? ', and its standard error is empty' : `: ${said}`;
    if (code !== 0) throw new RunFailure(`the command ended with ${code}${why}`);
    return Buffer.concat(out).toString('utf8');
  } finally {
    clearTimeout(timer);
    clearTimeout(killing);
    signal?.removeEventListener('abort', abort);
  }
}

function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: the command has ended by itself.
  }
}

function untilClosed(child: ChildProcess): Promise<number | string> {
  return new Promise((resolve, reject) => {
    child.on('error', (error) =>
      reject(new RunFailure(`the command did not start: ${error.message}`)),
    );
    child.on('close', (code, signal) => resolve(code ?? signal ?? 'an unknown end'));
  });
}

/**
 * A fault of a role or a bundle. This error ends the thread with return code 1; other errors leave the thread as it is.
 */
export class RunFailure extends Error {
  override readonly name: string = 'RunFailure';
}
