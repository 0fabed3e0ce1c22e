import { hostname } from 'node:os';

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
