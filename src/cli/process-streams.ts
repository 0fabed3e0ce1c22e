import process from 'node:process';

/** What every program of the package says to its process, and hears from it. */
export interface ProcessStreams {
  /** Resolves when it is written, and rejects when nobody reads it any more. */
  readonly out: (data: string | Uint8Array) => Promise<void>;
  readonly err: (text: string) => void;
}

/** Call it once: from then on a closed pipe ends no process by itself. */
export function processStreams(): ProcessStreams {
  // A write to a closed pipe also rejects the promise in `out`, which is where it is dealt with.
  process.stdout.on('error', () => undefined);
  // There is nobody left to tell.
  process.stderr.on('error', () => undefined);
  return {
    out: (data) =>
      new Promise((resolve, reject) => {
        process.stdout.write(data, (error) => {
          if (error) reject(error);
          else resolve();
        });
      }),
    err: (text) => {
      process.stderr.write(text);
    },
  };
}
