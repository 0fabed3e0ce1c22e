import type { Hash } from '../../base/brand.ts';
import type { BlobPut } from '../../engine/batch.ts';
import { encodeNode } from '../nodes/encode-node.ts';
import { ANCESTORS_MAX } from '../limits.ts';
import type { StateAt, StateNode } from '../nodes/nodes.ts';

export interface StepDraft extends Pick<StateNode, 'payload'> {
  readonly content: string;
  /** Artifacts, which are stored already or put beside. */
  readonly artifacts: readonly Hash[];
}

export interface PlannedStep {
  readonly state: StateAt;
  readonly puts: readonly BlobPut[];
}

/** Plans the two nodes of a step behind `parent`; undefined: the first step after the start. */
export function planStep(
  start: Hash,
  parent: StateAt | undefined,
  { payload, content, artifacts }: StepDraft,
): PlannedStep {
  const contentPut = encodeNode({ type: 'content', payload: content, refs: artifacts });
  const node: StateNode = {
    type: 'state',
    payload,
    refs: [start, parent?.hash ?? null, contentPut.hash, ...ancestorsBehind(parent?.node)],
  };
  const statePut = encodeNode(node);
  return { state: { hash: statePut.hash, node }, puts: [contentPut, statePut] };
}

/** Returns the grandparent and the states before it, newest first: the parent's list, one further. */
export function ancestorsBehind(parent: StateNode | undefined): readonly Hash[] {
  if (parent === undefined) return [];
  return linksOf(parent).slice(0, ANCESTORS_MAX);
}

/** Returns the parent and the ancestors: up to eleven states before this one, newest first, without a gap. */
export function linksOf({ refs: [, parent, , ...ancestors] }: StateNode): readonly Hash[] {
  return parent === null ? [] : [parent, ...ancestors];
}
