import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { SESSION_OPTION, reportRun, watchRun } from '../run-workflow.ts';
import type { RunningOptions } from '../run-workflow.ts';
import type { World } from '../world.ts';

export function workflowResume(world: World): Command {
  return defineCommand(
    'resume',
    'Run a thread on from its last step: one that was paused, stopped, or whose process died.',
    ['quipu workflow resume 01JTHREAD1AAAAAAAAAAAAAAAA'],
  )
    .argument('<thread>', 'thread id')
    .option(...SESSION_OPTION)
    .action(
      withIo(world, async (io, id: string, options: RunningOptions) => {
        await using store = await io.openStore();
        const watching = watchRun(world, io.json, options);
        await reportRun(io, await store.workflows.resume(id, watching));
      }),
    );
}
