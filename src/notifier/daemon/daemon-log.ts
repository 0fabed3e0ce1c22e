import * as fs from 'node:fs';

const ROTATE_BYTES = 1_000_000;

export type Log = (message: string) => void;

/** Appends lines with their time to a file. The previous file is kept as `<file>.1`. */
export function createLog(path: string, now: () => number): Log {
  return (message) => {
    const line = `[${new Date(now()).toISOString()}] ${message.replaceAll(/\s*\n\s*/g, ' ')}\n`;
    try {
      const size = fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0;
      if (size > ROTATE_BYTES) fs.renameSync(path, `${path}.1`);
      fs.appendFileSync(path, line, { mode: 0o600 });
    } catch {
      // A full disk or a folder that is gone must not end the running tasks; the spool reports them.
    }
  };
}
