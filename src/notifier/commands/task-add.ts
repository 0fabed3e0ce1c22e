import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { parseDuration } from '../../cli/parse-amount.ts';
import { invalid } from '../../base/errors.ts';
import { defineCommand, withIo } from '../command.ts';
import { readSettings } from '../daemon-settings.ts';
import { ensureDaemon } from '../ensure-daemon.ts';
import { Refused } from '../refused.ts';
import { checkAuthor, checkCommand, checkId } from '../spool/task.ts';
import type { World } from '../world.ts';
import { recordCaller } from './record-caller.ts';

interface Options {
  readonly command: string;
  readonly taskId?: string;
  readonly author?: string;
  readonly timeout?: number;
}

const MAX_TIMEOUT_MS = 2 ** 31 - 1;

export function taskAdd(world: World): Command {
  return defineCommand('add', 'Have a command run soon, in the background.', [
    'notifier task add --command "make report"',
    'notifier task add --task-id report --author alice --command "make report" --timeout 10m',
  ])
    .requiredOption('--command <line>', 'what to run, as a line for the shell')
    .option('--task-id <id>', 'its name; refused while one with it is pending (default: a new one)')
    .option('--author <name>', 'who asks for it')
    .option('--timeout <time>', 'kill it after this long, such as 10m', parseDuration)
    .action(
      withIo(world, async (io, options: Options) => {
        const settings = readSettings(world.env);
        const task = {
          id: checkId('task-id', options.taskId ?? `task-${randomBytes(6).toString('hex')}`),
          author: checkAuthor(options.author ?? ''),
          command: checkCommand(options.command),
          ...recordCaller(world),
          ...(options.timeout !== undefined && { timeoutMs: checkTimeout(options.timeout) }),
        };
        const spool = await io.makeSpool();
        const added = await spool.add(task);
        // Also when it is there already: the daemon that was to run it may have been killed.
        await ensureDaemon(io.home, settings, world);
        if (!added) {
          throw new Refused(`task ${task.id} is already pending`, 'it will run; nothing to do');
        }
        await io.print(`Added task ${task.id}\n`, { id: task.id });
      }),
    );
}

function checkTimeout(timeoutMs: number): number {
  if (timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS) return Math.ceil(timeoutMs);
  throw invalid('timeout', 'takes a time from 1ms to 24d');
}
