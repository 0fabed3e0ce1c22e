import type { OpenOptions } from '../open-store.ts';
import type { copyStore } from '../copy-store.ts';
import type { restoreStore } from '../restore-store.ts';
import type { Store } from '../store/store.ts';
import type { Machine } from './doctor/machine.ts';

/** The shell that called `quipu`: all that a command may touch besides the files it is told to read or write. */
export interface QuipuShell {
  /** Standard output. Resolves when there is room for more; rejects with EPIPE when nobody reads on. */
  out(data: string | Uint8Array): Promise<void>;
  /** Standard error. */
  err(text: string): void;
  /** Opened on first use, so that a command that reads nothing does not wait for a terminal. */
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
  /** True when a person watches standard error. */
  readonly isTerminal: boolean;
  openStore(url: string, options: OpenOptions): Promise<Store>;
  readonly restoreStore: typeof restoreStore;
  readonly copyStore: typeof copyStore;
  readonly machine: Machine;
  /** The words that call this program in a shell. */
  readonly program: string;
  now(): number;
  /** From this call on, Ctrl-C and a termination request abort the signal and no longer kill. */
  catchInterrupt(): AbortSignal;
}
