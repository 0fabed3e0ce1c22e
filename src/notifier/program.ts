import { Command } from 'commander';
import { readVersion } from '../cli/version.ts';
import { install } from './commands/install.ts';
import { start } from './commands/start.ts';
import { status } from './commands/status.ts';
import { stop } from './commands/stop.ts';
import { taskAdd } from './commands/task-add.ts';
import { taskList } from './commands/task-list.ts';
import { taskRemove } from './commands/task-remove.ts';
import { taskRetry } from './commands/task-retry.ts';
import { timerAdd } from './commands/timer-add.ts';
import { timerList } from './commands/timer-list.ts';
import { timerRemove } from './commands/timer-remove.ts';
import type { World } from './world.ts';

type Build = (world: World) => Command;

const TASK: readonly Build[] = [taskAdd, taskList, taskRemove, taskRetry];
const TIMER: readonly Build[] = [timerAdd, timerList, timerRemove];
const DAEMON: readonly Build[] = [start, stop, status, install];

const EXAMPLES = `
Examples:
  $ notifier task add --task-id report --command "make report"
  $ notifier task list
  $ notifier timer add --timer-id nightly --cron "30 2 * * *" --command "make report"

Exit codes: 0 done, 1 refused (such as a task that is already pending), 2 the command line is wrong.`;

export function createProgram(world: World): Command {
  const program = new Command('notifier')
    .description('Runs commands in the background: soon, once, or at set times.')
    .version(readVersion())
    .addHelpText('after', EXAMPLES);
  program.addCommand(group('task', 'Commands to run soon.', TASK, world));
  program.addCommand(group('timer', 'Commands to run at set times.', TIMER, world));
  for (const build of DAEMON) program.addCommand(build(world));
  return program;
}

function group(name: string, summary: string, builds: readonly Build[], world: World): Command {
  const parent = new Command(name)
    .description(summary)
    .addHelpText('after', `\nEvery command has examples: notifier ${name} <command> --help`);
  for (const build of builds) parent.addCommand(build(world));
  return parent;
}
