import type { Hash } from '../../base/brand.ts';
import type { JsonObject } from '../nodes/nodes.ts';
import type { ThreadId } from './thread-id.ts';

export interface Thread {
  readonly id: ThreadId;
  readonly bundle: Hash;
  readonly state: 'active' | 'paused' | 'completed';
  /** The newest state; the start while there is no step. */
  readonly head: Hash;
  readonly start: Hash;
  /** The time of the last change; for a finished thread, the time of its end. */
  readonly updatedAt: number;
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
