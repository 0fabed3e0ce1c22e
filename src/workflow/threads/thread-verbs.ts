import { addThread, changeThread } from './change-thread.ts';
import { forkPoint } from './fork-point.ts';
import { findThread, readThread } from './read-thread.ts';
import { planRemoval } from './remove-thread.ts';
import { setPaused } from './set-paused.ts';
import { newThreadId, toThreadId } from './thread-id.ts';
import type { Thread } from './thread.ts';
import type { WorkflowWorld } from '../workflow-world.ts';
import type { ForkOptions, Workflows } from '../workflows.ts';

type ThreadVerbs = Pick<Workflows, 'fork' | 'remove' | 'pause'>;

export function threadVerbs(world: WorkflowWorld): ThreadVerbs {
  const { engine, lifetime, clock } = world;
  return {
    async fork(id: string, options: ForkOptions = {}): Promise<Thread> {
      lifetime.assertOpen('workflows.fork');
      const from = toThreadId(id);
      const found = await findThread(engine, from);
      const { head, start, compact } = await forkPoint(engine, from, found, options.at);
      const now = clock();
      const fork = newThreadId(now);
      const { bundle } = found.note.value;
      const entry = { head, start, updatedAt: now };
      const note = { bundle, ...(compact !== undefined && { compact }) };
      await addThread(world, fork, { note, entry });
      return { id: fork, bundle, state: 'active', ...entry };
    },

    async remove(id: string): Promise<void> {
      lifetime.assertOpen('workflows.remove');
      const thread = toThreadId(id);
      await changeThread(world, thread, (found) => planRemoval(engine, thread, found));
    },

    async pause(id: string): Promise<Thread> {
      lifetime.assertOpen('workflows.pause');
      const thread = toThreadId(id);
      await setPaused(world, thread, true);
      return readThread(engine, thread);
    },
  };
}
