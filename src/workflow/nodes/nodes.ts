import type { Hash } from '../../base/brand.ts';
import type { JsonObject } from '../home/check-input.ts';
import type { ThreadId } from '../home/workflows-home.ts';

// The nodes of a thread: blobs of canonical JSON `{type, payload, refs}`. Nodes never change, and everything they need
// stands in `refs` (and `compact`), so a garbage collection follows these alone.

/** The start of a workflow. This node names no thread: forks share it. */
export interface StartNode {
  readonly type: 'start';
  readonly payload: {
    readonly name: string;
    /** The hash of the bundle that runs the workflow. */
    readonly hash: Hash;
    readonly maxRounds: number;
    /** 0, or one more than the depth of the workflow that called this one. */
    readonly depth: number;
    /** The newest state of the caller when it called. */
    readonly parentState?: Hash;
  };
  /** The prompt, a blob of its own. */
  readonly refs: readonly [prompt: Hash];
}

type StateRefs = readonly [start: Hash, parent: Hash | null, content: Hash, ...ancestors: Hash[]];

export interface StatePayload {
  readonly role: string;
  readonly meta: JsonObject;
  readonly timestamp: number;
  /** A blob with a summary of everything before this step. */
  readonly compact?: Hash | null;
  /** The thread that did this step, when the step was a workflow of its own. */
  readonly childThread?: ThreadId;
}

/** One step. The last one of a finished thread has the role `__end__`. */
export interface StateNode {
  readonly type: 'state';
  readonly payload: StatePayload;
  readonly refs: StateRefs;
}

/** The output of a role, and the artifacts that it made. */
export interface ContentNode {
  readonly type: 'content';
  readonly payload: string;
  readonly refs: readonly Hash[];
}

export type WorkflowNode = StartNode | StateNode | ContentNode;

export const END_ROLE = '__end__';
export const COMPACT_ROLE = '__compact__';

/** A state with its hash. */
export interface StateAt {
  readonly hash: Hash;
  readonly node: StateNode;
}
