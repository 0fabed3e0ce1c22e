import process from 'node:process';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { QuipuError, isQuipuError } from '../../base/errors.ts';
import { escapeControls, escapeLines } from './text.ts';
import { programFile } from '../../base/program-file.ts';

/**
 * The streams between a program of the package and its process. Stored text may hold codes that move the cursor of a
 * terminal, rewrite what was shown or type commands. This is the one place that all text goes through on its way there:
 * such codes are shown as escapes. In JSON these escapes mean the same.
 */
export interface ProcessStreams {
  /**
   * Resolves when the data is written. Rejects with EPIPE when nobody reads any more, and otherwise with IO. Bytes, and
   * text that goes to a file or a pipe, stay as they are.
   */
  readonly out: (data: string | Uint8Array) => Promise<void>;
  readonly err: (text: string) => void;
  /** Replaces the last line of a terminal at standard error. */
  readonly status: (line: string) => void;
}

const OUTPUT = 'standard output';
/** Back to the beginning of the line, which is cleared. */
const WIPE = '\r\u001b[K';

/** Call this once: from then on a closed pipe ends no process by itself. */
export function processStreams({
  stdout,
  stderr,
}: Pick<NodeJS.Process, 'stdout' | 'stderr'> = process): ProcessStreams {
  // A write to a closed pipe also rejects the promise in `out`, and the caller of `out` handles it.
  stdout.on('error', () => undefined);
  // There is nobody left to tell.
  stderr.on('error', () => undefined);
  const isClosed = isOutputClosed();
  return {
    out: (data) =>
      new Promise((resolve, reject) => {
        if (isClosed) return reject(notWritten('EBADF'));
        const isText = typeof data === 'string' && stdout.isTTY;
        stdout.write(isText ? escapeLines(data) : data, (error) => {
          const { code = 'EIO' } = (error ?? {}) as NodeJS.ErrnoException;
          if (!error) resolve();
          else reject(code === 'EPIPE' ? error : notWritten(code, error));
        });
      }),
    err: (text) => {
      stderr.write(escapeLines(text));
    },
    status: (line) => {
      stderr.write(`${WIPE}${escapeControls(line)}`);
    },
  };
}

function notWritten(errno: string, cause?: Error): QuipuError<'IO'> {
  const data = { path: OUTPUT, errno };
  return new QuipuError('IO', `${OUTPUT} cannot be written (${errno})`, data, { cause });
}

/** A terminal that does not say its width, as in a container, has as many columns as terminals had first. */
const COLUMNS_UNKNOWN = 80;

/** Undefined where standard output is no terminal. */
export function widthOf(stdout: Pick<NodeJS.WriteStream, 'isTTY' | 'columns'>): number | undefined {
  return stdout.isTTY ? stdout.columns || COLUMNS_UNKNOWN : undefined;
}

/** The next step after an error of `out`; undefined for other errors. */
export function outputHint(error: QuipuError): string | undefined {
  if (!isQuipuError(error, 'IO') || error.data.path !== OUTPUT) return undefined;
  return 'send it to where there is room; what the command did stays done';
}

/** These shells open /dev/null for writing alone when they are told to send output there. */
const SHELLS = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'mksh', 'ash', 'busybox', 'fish']);

const ACCESS = 0o3;
const READ_AND_WRITE = 0o2;

/**
 * Returns whether standard output was closed when this process began, as by `>&-`. Node then opens /dev/null in its
 * place, for reading and writing, and no write to it fails. A program that starts others and discards their output
 * leaves the same state. So this function looks at the parent process. If the parent has no output either, or is a
 * shell, which would have opened /dev/null otherwise, the output was closed. Unknown cases and other systems count as
 * open.
 */
function isOutputClosed(): boolean {
  try {
    if (!isNullForAll('self')) return false;
    const parent = String(process.ppid);
    if (!hasOutput(parent)) return true;
    const name = readFileSync(`/proc/${parent}/comm`, 'utf8').trim();
    return SHELLS.has(name) && !isNullForAll(parent);
  } catch {
    return false;
  }
}

function isNullForAll(pid: string): boolean {
  if (readlinkSync(`/proc/${pid}/fd/1`) !== '/dev/null') return false;
  const [, flags = ''] =
    /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/1`, 'utf8')) ?? [];
  return (Number.parseInt(flags, 8) & ACCESS) === READ_AND_WRITE;
}

function hasOutput(pid: string): boolean {
  try {
    readlinkSync(`/proc/${pid}/fd/1`);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** The facts that a check needs about the process and its machine. */
export interface Machine {
  readonly nodeVersion: string;
  readonly host: string;
  /** The number of files that may be open at once; undefined where the system does not tell. */
  readonly openFiles: number | undefined;
  readonly uid: number | undefined;
  isAlive(pid: number): boolean;
}

export function thisMachine(): Machine {
  return {
    nodeVersion: process.versions.node,
    host: hostname(),
    openFiles: readOpenFiles(),
    uid: process.getuid?.(),
    isAlive(pid) {
      try {
        process.kill(pid, 0);
        return true;
      } catch (error) {
        return (error as NodeJS.ErrnoException).code === 'EPERM';
      }
    },
  };
}

function readOpenFiles(): number | undefined {
  const report = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft?: number | string } };
  };
  const soft = report.userLimits?.open_files?.soft;
  return soft === 'unlimited' ? Infinity : typeof soft === 'number' ? soft : undefined;
}

/** The version of the package this file belongs to, built or not. */
export function readVersion(): string {
  const text = readFileSync(programFile('../package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
