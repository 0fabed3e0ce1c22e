import type { Step } from '../threads/thread.ts';
import type { ThreadId } from '../threads/thread-id.ts';

export interface RunOptions {
  readonly prompt: string;
  /** Default: the bundle's value, else 10. */
  readonly maxRounds?: number;
  /** Stops the run and leaves the thread as it is, to be resumed. */
  readonly signal?: AbortSignal;
  /** The folder in which commands run. Default the folder of this process. */
  readonly cwd?: string;
  /**
   * The session whose artifacts `artifact://…` in the output of roles means first. Default: the sessions that are open.
   */
  readonly session?: string;
  /** Called with the thread when it is there, and with every step once it is stored. */
  readonly onStart?: (id: ThreadId) => void;
  readonly onStep?: (step: Step) => void;
}

export type ThreadOptions = Omit<RunOptions, 'prompt' | 'maxRounds'>;

export interface RunResult {
  readonly threadId: ThreadId;
  /** `removed`: someone removed the thread meanwhile. */
  readonly state: 'completed' | 'paused' | 'interrupted' | 'removed';
  /** The return code of a thread that has ended: 0 done, 1 failed, 2 rounds used up, 130 killed. */
  readonly returnCode?: number;
  readonly summary?: string;
}
