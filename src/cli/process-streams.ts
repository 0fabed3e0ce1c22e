import process from 'node:process';
import { QuipuError, isQuipuError } from '../base/errors.ts';
import { isOutputClosed } from './is-output-closed.ts';

/** What every program of the package says to its process, and hears from it. */
export interface ProcessStreams {
  /** Resolves when it is written. Rejects with EPIPE when nobody reads it any more, and else with IO. */
  readonly out: (data: string | Uint8Array) => Promise<void>;
  readonly err: (text: string) => void;
}

const OUTPUT = 'standard output';

/** Call it once: from then on a closed pipe ends no process by itself. */
export function processStreams(): ProcessStreams {
  // A write to a closed pipe also rejects the promise in `out`, which is where it is dealt with.
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

/** What to do about an error of `out`; undefined for others. */
export function outputHint(error: QuipuError): string | undefined {
  if (!isQuipuError(error, 'IO') || error.data.path !== OUTPUT) return undefined;
  return 'send it to where there is room; what the command did stays done';
}
