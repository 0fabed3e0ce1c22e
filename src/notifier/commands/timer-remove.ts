import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { Refused } from '../refused.ts';
import { checkId } from '../spool/task.ts';
import type { World } from '../world.ts';

export function timerRemove(world: World): Command {
  return defineCommand('remove', 'End a timer; a task it has added already stays.', [
    'notifier timer remove nightly',
  ])
    .argument('<timer-id>', 'its name')
    .action(
      withIo(world, async (io, given: string) => {
        const id = checkId('timer-id', given);
        if ((await io.findSpool()?.removeTimer(id)) !== true) {
          throw new Refused(`there is no timer ${id}`, 'see "notifier timer list"');
        }
        await io.print(`Removed timer ${id}\n`, { id });
      }),
    );
}
