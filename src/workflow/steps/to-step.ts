import type { ContentNode, StateAt } from '../nodes/nodes.ts';
import { readContent } from '../nodes/node-reader.ts';
import type { BlobReader } from '../nodes/node-reader.ts';
import type { Step } from '../threads/thread.ts';

export function toStep(
  { hash, node: { payload, refs } }: StateAt,
  content?: Pick<ContentNode, 'payload' | 'refs'>,
): Step {
  const { role, meta, timestamp, compact, childThread } = payload;
  return {
    hash,
    parent: refs[1],
    role,
    meta,
    timestamp,
    ...(content !== undefined && { content: content.payload, refs: content.refs }),
    ...(compact && { compact }),
    ...(childThread !== undefined && { childThread }),
  };
}

/** Reads steps with their contents, side by side. */
export async function readSteps(blobs: BlobReader, states: readonly StateAt[]): Promise<Step[]> {
  return Promise.all(
    states.map(async (state) => toStep(state, await readContent(blobs, state.node.refs[2]))),
  );
}
