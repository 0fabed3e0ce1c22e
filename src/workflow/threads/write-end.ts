import type { Hash } from '../../base/brand.ts';
import { END_ROLE } from '../nodes/nodes.ts';
import type { JsonObject } from '../nodes/nodes.ts';
import { toThreadId } from './thread-id.ts';
import type { Step } from './thread.ts';
import type { WorkflowWorld } from '../workflow-world.ts';
import { writeStep } from '../steps/write-steps.ts';

export interface Ending {
  readonly meta: JsonObject;
  readonly content: string;
  readonly artifacts: readonly Hash[];
  readonly expectedHead: Hash | undefined;
  readonly info?: readonly string[];
}

/** Writes the end node and the line in the history, and removes the entry, in one commit. */
export function writeEnd(
  world: WorkflowWorld,
  id: string,
  { meta, content, artifacts, expectedHead, info = [] }: Ending,
): Promise<Step> {
  const threadId = toThreadId(id);
  const completedAt = world.clock();
  const payload = { role: END_ROLE, meta, timestamp: completedAt };
  const draft = { payload, content, artifacts };
  const request = { draft, puts: [], expectedHead, info };
  return writeStep(world, threadId, request, (state, { note }) => {
    const line = { threadId, head: state.hash, start: state.node.refs[0], completedAt };
    const { head, start } = line;
    const { bundle, compact } = note.value;
    const ended = { bundle, ...(compact !== undefined && { compact }), completedAt, head, start };
    return { entry: undefined, history: line, note: ended };
  });
}
