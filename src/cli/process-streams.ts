import process from 'node:process';
import { QuipuError, isQuipuError } from '../base/errors.ts';
import { isOutputClosed } from './is-output-closed.ts';

/** The streams between a program of the package and its process. */
export interface ProcessStreams {
  /** Resolves when the data is written. Rejects with EPIPE when nobody reads any more, and otherwise with IO. */
  readonly out: (data: string | Uint8Array) => Promise<void>;
  readonly err: (text: string) => void;
}

const OUTPUT = 'standard output';

/** Call this once: from then on a closed pipe ends no process by itself. */
export function processStreams(): ProcessStreams {
  // A write to a closed pipe also rejects the promise in `out`, and the caller of `out` handles it.
  process.stdout.on('error', () => undefined);
  // There is nobody left to tell.
  process.stderr.on('error', () => undefined);
  const isClosed = isOutputClosed();
  return {
    out: (data) =>
      new Promise((resolve, reject) => {
        if (isClosed) return reject(notWritten('EBADF'));
        process.stdout.write(data, (error) => {
          const { code = 'EIO' } = (error ?? {}) as NodeJS.ErrnoException;
          if (!error) resolve();
          else reject(code === 'EPIPE' ? error : notWritten(code, error));
        });
      }),
    err: (text) => {
      process.stderr.write(text);
    },
  };
}

function notWritten(errno: string, cause?: Error): QuipuError<'IO'> {
  const data = { path: OUTPUT, errno };
  return new QuipuError('IO', `${OUTPUT} cannot be written (${errno})`, data, { cause });
}

/** The next step after an error of `out`; undefined for other errors. */
export function outputHint(error: QuipuError): string | undefined {
  if (!isQuipuError(error, 'IO') || error.data.path !== OUTPUT) return undefined;
  return 'send it to where there is room; what the command did stays done';
}
