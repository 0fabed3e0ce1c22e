import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { withQueue } from '../with-queue.ts';
import type { World } from '../world.ts';

export function queueDispatch(world: World): Command {
  return defineCommand(
    'dispatch',
    'Start the handlers that have events to handle, as a push does.',
    ['quipu queue dispatch inbox'],
  )
    .argument('<queue>', 'its name')
    .action(
      withIo(world, async (io, name: string) => {
        const report = await withQueue(io, name, (queue) => queue.dispatch());
        if (io.json) return io.printJson(report);
        for (const consumer of report.started) await world.out(`started ${consumer}\n`);
        for (const { consumer, reason } of report.skipped) {
          world.err(`skipped ${consumer} (${reason})\n`);
        }
      }),
    );
}
