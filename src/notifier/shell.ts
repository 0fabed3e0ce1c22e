/** The shell that called `notifier`: all that a command may touch besides the spool. */
export interface NotifierShell {
  /** Standard output. Rejects with EPIPE when nobody reads on. */
  out(text: string): Promise<void>;
  /** Standard error. */
  err(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly userHome: string;
  /** The zone whose clocks this machine shows. */
  readonly zone: string;
  readonly platform: string;
  /** Paths of the program that runs scripts, and of the scripts. */
  readonly programs: { readonly node: string; readonly notifier: string; readonly thread: string };
  now(): number;
  /**
   * Starts this program with these arguments in a process that outlives this one. The errors of the new process go to
   * `log`.
   */
  spawn(argv: readonly string[], log: string): Promise<void>;
  /** From this call on, Ctrl-C and a termination request abort the signal and no longer kill. */
  catchInterrupt(): AbortSignal;
}
