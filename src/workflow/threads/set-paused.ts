import { changeThread } from './change-thread.ts';
import type { ThreadId } from './thread-id.ts';
import type { WorkflowWorld } from '../workflow-world.ts';
import { hasEnded } from '../steps/write-steps.ts';

export async function setPaused(
  world: WorkflowWorld,
  thread: ThreadId,
  paused: boolean,
): Promise<void> {
  await changeThread(world, thread, async ({ entry, note }) => {
    if (entry === undefined) throw hasEnded(thread, note.value.head);
    const { paused: before, ...rest } = note.value;
    if ((before === true) === paused) return undefined;
    return { entry, note: { ...rest, ...(paused && { paused: true as const }) } };
  });
}
