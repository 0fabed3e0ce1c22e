import type { Hash } from '../../base/brand.ts';
import { addThread } from './change-thread.ts';
import { encodeNode, encodeText } from '../nodes/encode-node.ts';
import type { StartNode } from '../nodes/nodes.ts';
import type { Thread } from './thread.ts';
import type { ThreadId } from './thread-id.ts';
import type { WorkflowWorld } from '../workflow-world.ts';

export interface StartRequest {
  readonly id: ThreadId;
  readonly payload: StartNode['payload'];
  readonly prompt: string;
}

/** Trusts its input. Writes prompt, start node, entry and note in one commit. */
export async function startThread(
  world: WorkflowWorld,
  { id, payload, prompt }: StartRequest,
): Promise<Thread> {
  const text = encodeText(prompt);
  const start = encodeNode({ type: 'start', payload, refs: [text.hash] });
  const bundle: Hash = payload.hash;
  const entry = { head: start.hash, start: start.hash, updatedAt: world.clock() };
  await addThread(world, id, { note: { bundle }, entry, puts: [text, start] });
  return { id, bundle, state: 'active', ...entry };
}
