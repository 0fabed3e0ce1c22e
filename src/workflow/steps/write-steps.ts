import type { Hash } from '../../base/brand.ts';
import { QuipuError } from '../../base/errors.ts';
import type { BlobPut } from '../../engine/batch.ts';
import { changeThread, headMoved } from '../threads/change-thread.ts';
import type { Transition } from '../threads/change-thread.ts';
import { readState } from '../nodes/node-reader.ts';
import type { StateAt } from '../nodes/nodes.ts';
import { planStep } from './plan-step.ts';
import type { PlannedStep, StepDraft } from './plan-step.ts';
import type { Found } from '../threads/read-thread.ts';
import type { Step } from '../threads/thread.ts';
import type { ThreadId } from '../threads/thread-id.ts';
import { toStep } from './to-step.ts';
import type { WorkflowWorld } from '../workflow-world.ts';

export interface StepRequest {
  readonly draft: StepDraft;
  /** Blobs that are stored with the step. */
  readonly puts: readonly BlobPut[];
  readonly expectedHead: Hash | undefined;
  readonly info?: readonly string[];
}

/** Appends a state to a thread that is under way. `also` returns the other changes of the commit. */
export async function writeStep(
  world: WorkflowWorld,
  id: ThreadId,
  { draft, puts, expectedHead, info = [] }: StepRequest,
  also: (state: StateAt, found: Found) => Partial<Transition> = () => ({}),
): Promise<Step> {
  let planned: PlannedStep | undefined;
  await changeThread(world, id, async (found) => {
    const { entry } = found;
    // The state was planned before and is there: the commit whose answer was lost did happen.
    const head = entry?.head ?? found.note.value.head;
    if (planned !== undefined && head === planned.state.hash) return undefined;
    if (entry === undefined) throw hasEnded(id, head);
    if (expectedHead !== undefined && expectedHead !== entry.head) {
      throw headMoved(id, expectedHead, entry.head);
    }
    planned = planStep(entry.start, await readParent(world, entry), draft);
    const { state } = planned;
    const { timestamp } = draft.payload;
    return {
      puts: [...puts, ...planned.puts],
      entry: { head: state.hash, start: entry.start, updatedAt: timestamp },
      info,
      ...also(state, found),
    };
  });
  if (planned === undefined) throw new TypeError(`nothing was planned for thread ${id}`);
  return toStep(planned.state, { payload: draft.content, refs: draft.artifacts });
}

async function readParent(
  { engine }: WorkflowWorld,
  { head, start }: { readonly head: Hash; readonly start: Hash },
): Promise<StateAt | undefined> {
  return head === start ? undefined : { hash: head, node: await readState(engine, head) };
}

/** `head` is the end, where the thread has moved to and where it stays. */
export function hasEnded(id: ThreadId, head: Hash | undefined): QuipuError<'HEAD_MOVED'> {
  const message = `thread ${id} has ended; fork it to go on from one of its steps`;
  return new QuipuError('HEAD_MOVED', message, {
    context: id,
    expected: 'no end',
    head: head ?? '',
  });
}
