import type { Hash } from '../../base/brand.ts';
import type { Bundles } from '../bundles/bundles.ts';
import type { JsonObject, ThreadId } from '../home/workflows-home.ts';

/** A thread that is under way. */
export interface ThreadEntry {
  /** The newest state; the start while there is no step. */
  readonly head: Hash;
  readonly start: Hash;
  /** The time of the last change; for a finished thread, the time of its end. */
  readonly updatedAt: number;
}

export interface Thread extends ThreadEntry {
  readonly id: ThreadId;
  readonly bundle: Hash;
  readonly state: 'active' | 'paused' | 'completed';
}

/** A thread with what its nodes say. A node that is missing or damaged leaves its facts out. */
export interface ThreadDetails extends Thread {
  /** The name of the workflow. */
  readonly name?: string;
  /** A list shows the first 200 characters. */
  readonly prompt?: string;
  /** The end of a finished thread: return code 0 is `completed`, 130 `killed`, any other `failed`. */
  readonly outcome?: 'completed' | 'failed' | 'killed';
  readonly returnCode?: number;
  readonly summary?: string;
}

/** The start of a thread. */
export interface ThreadStart {
  readonly name: string;
  readonly bundle: Hash;
  readonly prompt: string;
  readonly maxRounds: number;
  readonly depth: number;
  readonly parentState?: Hash;
}

export interface Step {
  readonly hash: Hash;
  /** Null for the first step after the start. */
  readonly parent: Hash | null;
  readonly role: string;
  readonly meta: JsonObject;
  readonly timestamp: number;
  /** Absent when the caller did not ask for contents. */
  readonly content?: string;
  /** The artifacts of the content. */
  readonly refs?: readonly Hash[];
  readonly compact?: Hash;
  readonly childThread?: ThreadId;
}

export interface StepPage {
  /** Oldest first. */
  readonly steps: readonly Step[];
  /** Pass this as `before` for the page before this one; absent at the beginning. */
  readonly cursor?: Hash;
}

/** The context for a model: the prompt, then either every step or a summary and the steps since. */
export interface ThreadContext {
  readonly thread: Thread;
  readonly start: ThreadStart;
  readonly summary?: string;
  readonly steps: readonly Step[];
}

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

// Threads of agents with roles, as chains of immutable nodes. Every change is one commit. There is no moment in which a
// step is recorded and the thread does not lead to it, or a thread is neither under way nor finished.

export interface StartThread {
  /** The workflow's name. */
  readonly name: string;
  readonly prompt: string;
  /** Default: the bundle registered under the name. The bundle need not be stored, unless something runs it. */
  readonly bundle?: Hash;
  /** Default 10; `run` uses the bundle's value. */
  readonly maxRounds?: number;
  readonly depth?: number;
  /** The state of the caller, for a child. */
  readonly parentState?: Hash;
}

export interface NewStep {
  readonly role: string;
  readonly content: string;
  readonly meta?: JsonObject;
  /** Artifacts: hashes of stored blobs, else the call fails with NOT_FOUND. */
  readonly refs?: readonly string[];
  /** A summary of everything before this step. */
  readonly compact?: string;
  readonly childThread?: ThreadId;
  /** The head must be this, else the call fails with HEAD_MOVED. */
  readonly expectedHead?: Hash;
}

export interface EndThread {
  /** 0 done, 1 failed, 2 rounds used up, 130 killed. Default 0. */
  readonly returnCode?: number;
  readonly summary?: string;
  readonly meta?: JsonObject;
  readonly refs?: readonly string[];
  readonly expectedHead?: Hash;
}

export interface ForkOptions {
  /**
   * A step by hash, by role (its newest), or by number from 0 (negative: from the newest). Default the last step. A
   * fork at the end of a thread goes on from the step before the end.
   */
  readonly at?: string | number;
}

/** The summary itself, or a way to make it. */
export type Summarise =
  | string
  | ((context: ThreadContext) => string | Promise<string>)
  | { readonly command: string; readonly signal?: AbortSignal };

export interface ListThreads {
  /** Default `'active'`, which includes paused threads. */
  readonly state?: 'active' | 'completed' | 'all';
  readonly bundle?: Hash;
  /** Only threads that ended, or were last changed, at this time or later: a date, or milliseconds since 1970. */
  readonly since?: number | Date;
  /** Only threads that ended, or were last changed, before this time. */
  readonly until?: number | Date;
  /** Default 50. */
  readonly limit?: number;
  readonly cursor?: string;
  /** True: with name, prompt, outcome and return code. They are read from the nodes of each thread. */
  readonly details?: boolean;
}

/** Threads under way, the last changed first, then finished ones of all bundles, the last to end first. */
export interface ThreadPage {
  readonly items: readonly ThreadDetails[];
  readonly cursor?: string;
}

export interface StepsOptions {
  /** Default 50. */
  readonly limit?: number;
  /** Read the page before this step. Default: the last steps. */
  readonly before?: string;
  /** Default true. */
  readonly content?: boolean;
  /** The page ends before its steps take more than this together; it has at least one. Default: no limit. */
  readonly maxBytes?: number;
}

export interface InfoOptions {
  /** The first line. Default 0. */
  readonly from?: number;
  /** Default and at most 1,000. */
  readonly limit?: number;
  /** The page ends when its lines take more than this together. Default: no limit. */
  readonly maxBytes?: number;
}

export interface ContextOptions {
  /** TOO_LARGE for a context of more bytes. Default: no limit. */
  readonly maxBytes?: number;
}

export interface LiveOptions {
  /** The last step seen. Default: from the first one on. */
  readonly after?: string;
  /** Ends the iteration. The iterator then returns, and does not throw. */
  readonly signal?: AbortSignal;
}

/** `threads.json` of a bundle after a change. */
export interface IndexChange {
  readonly version: number;
  readonly threads: Readonly<Record<ThreadId, ThreadEntry>>;
}

export interface Workflows {
  readonly bundles: Bundles;

  start(options: StartThread): Promise<Thread>;
  /** Throws INVALID when the thread has used its `maxRounds`. */
  step(id: string, step: NewStep): Promise<Step>;
  /** Appends an `__end__` and moves the thread from `threads.json` to the history. */
  end(id: string, end?: EndThread): Promise<Step>;
  /** Makes a thread of its own that goes on from a step of this one. No node is copied. */
  fork(id: string, options?: ForkOptions): Promise<Thread>;
  /** Appends a step that stands for everything before it, so that contexts stay short. */
  compact(id: string, summarise: Summarise): Promise<Step>;
  /** Forgets a thread. Nodes that only this thread led to go with the next garbage collection. */
  remove(id: string): Promise<void>;

  get(id: string, options?: { readonly details?: boolean }): Promise<ThreadDetails | undefined>;
  list(options?: ListThreads): Promise<ThreadPage>;
  steps(id: string, options?: StepsOptions): Promise<StepPage>;
  /** Returns the context for a model: walks back to the newest summary, or to the beginning. */
  context(id: string, options?: ContextOptions): Promise<ThreadContext>;
  /** Returns debug lines of a thread, oldest first. */
  info(id: string, options?: InfoOptions): Promise<readonly JsonObject[]>;
  /** Yields the steps that are there and those to come, until the thread ends or is removed. */
  live(id: string, options?: LiveOptions): AsyncIterable<Step>;
  /** Yields `threads.json` of a bundle, now and after every change; a reader that is far behind gets the newest. */
  watchIndex(
    bundle: string,
    options?: { readonly signal?: AbortSignal },
  ): AsyncIterable<IndexChange>;
  /** Returns every hash that these lead to over `refs` and `compact`. */
  findReachableHashes(roots: Iterable<string>): Promise<Set<Hash>>;

  /** Starts a thread of a registered bundle and runs it here, in this process, to its end. */
  run(name: string, options: RunOptions): Promise<RunResult>;
  /** Runs a thread on from its last step, also one whose process died. No recorded step is run again. */
  resume(id: string, options?: ThreadOptions): Promise<RunResult>;
  /** The process that runs the thread stops behind the current step. */
  pause(id: string): Promise<Thread>;
  /** Ends the thread with return code 130; the process that runs it stops at once. */
  kill(id: string, reason?: string): Promise<Step>;
}
