/** The shell that called `thread`: all that a command may touch besides the queue's folder. */
export interface ThreadShell {
  /** Standard output. Rejects with EPIPE when nobody reads on. */
  out(data: string): Promise<void>;
  /** Standard error. */
  err(text: string): void;
  /** Opened on first use. */
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The script that runs, as it was called. */
  readonly script: string;
  /** The program that runs scripts. */
  readonly execPath: string;
}
