import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { Refused } from '../refused.ts';
import { checkId } from '../spool/task.ts';
import type { World } from '../world.ts';

export function taskRemove(world: World): Command {
  return defineCommand('remove', 'Take back a task that waits, and forget its failure.', [
    'notifier task remove report',
  ])
    .argument('<task-id>', 'its name')
    .action(
      withIo(world, async (io, given: string) => {
        const id = checkId('task-id', given);
        const spool = io.findSpool();
        const removed = [
          (await spool?.removePending(id)) === true ? 'pending' : [],
          (await spool?.removeFailed(id)) === true ? 'error' : [],
        ].flat();
        if (removed.length > 0) {
          await io.print(`Removed task ${id} (${removed.join(', ')})\n`, { id, removed });
          return;
        }
        if ((await spool?.getTask('running', id)) !== undefined) {
          const pid = (await spool?.getRun(id))?.pid;
          const end = pid === undefined ? 'run "notifier stop"' : `end it with: kill -- -${pid}`;
          throw new Refused(`task ${id} is running`, `wait for its end, or ${end}`);
        }
        throw new Refused(`there is no task ${id}`, 'see "notifier task list"');
      }),
    );
}
