import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { readSettings } from '../daemon-settings.ts';
import { ensureDaemon } from '../ensure-daemon.ts';
import { Refused } from '../refused.ts';
import { checkId } from '../spool/task.ts';
import type { World } from '../world.ts';

export function taskRetry(world: World): Command {
  return defineCommand('retry', 'Have a task that failed run again.', [
    'notifier task retry report',
  ])
    .argument('<task-id>', 'its name')
    .action(
      withIo(world, async (io, given: string) => {
        const settings = readSettings(world.env);
        const id = checkId('task-id', given);
        const outcome = (await io.findSpool()?.retry(id)) ?? 'missing';
        if (outcome === 'missing') {
          throw new Refused(
            `there is no failed task ${id}`,
            'see "notifier task list --state error"',
          );
        }
        await ensureDaemon(io.home, settings, world);
        if (outcome === 'taken') {
          throw new Refused(`task ${id} is already pending`, 'it will run; nothing to do');
        }
        await io.print(`Added task ${id} again\n`, { id });
      }),
    );
}
