import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { reportRun, watchRun } from '../run-workflow.ts';
import type { World } from '../world.ts';

export function workflowResume(world: World): Command {
  return defineCommand(
    'resume',
    'Run a thread on from its last step: one that was paused, stopped, or whose process died.',
    ['quipu workflow resume 01JTHREAD1AAAAAAAAAAAAAAAA'],
  )
    .argument('<thread>', 'thread id')
    .action(
      withIo(world, async (io, id: string) => {
        await using store = await io.openStore();
        await reportRun(io, await store.workflows.resume(id, watchRun(world, io.json)));
      }),
    );
}
