import type { Step } from '../threads/thread.ts';
import type { ThreadId } from '../threads/thread-id.ts';

export interface RunOptions {
  readonly prompt: string;
  /** Default what the bundle says, else 10. */
  readonly maxRounds?: number;
  /** Stops the run and leaves the thread as it is, to be resumed. */
  readonly signal?: AbortSignal;
  /** Where commands run. Default the folder of this process. */
  readonly cwd?: string;
  /** Whose artifacts `artifact://…` in what roles say means first. Default: those of the sessions that are open. */
  readonly session?: string;
  /** Told of the thread when it is there, and of every step once it is stored. */
  readonly onStart?: (id: ThreadId) => void;
  readonly onStep?: (step: Step) => void;
}

export type ThreadOptions = Omit<RunOptions, 'prompt' | 'maxRounds'>;

export interface RunResult {
  readonly threadId: ThreadId;
  /** `removed`: someone took the thread away meanwhile. */
  readonly state: 'completed' | 'paused' | 'interrupted' | 'removed';
  /** Of a thread that has ended: 0 done, 1 failed, 2 rounds used up, 130 killed. */
  readonly returnCode?: number;
  readonly summary?: string;
}
