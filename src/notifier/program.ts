import { Command } from 'commander';
import { readVersion } from '../cli/version.ts';
import { toCommand, toGroup } from '../cli/verb.ts';
import { notifierKit } from './command.ts';
import { daemonVerbs } from './nouns/daemon.ts';
import { taskVerbs } from './nouns/task.ts';
import { timerVerbs } from './nouns/timer.ts';
import type { NotifierShell } from './shell.ts';

const EXAMPLES = `
Examples:
  $ notifier task add --task-id report --command "make report"
  $ notifier task list
  $ notifier timer add --timer-id nightly --cron "30 2 * * *" --command "make report"

Exit codes: 0 done, 1 refused (such as a task that is already pending), 2 the command line is wrong.`;

export function createProgram(shell: NotifierShell): Command {
  const kit = notifierKit(shell);
  const program = new Command('notifier')
    .description('Runs commands in the background: soon, once, or at set times.')
    .version(readVersion())
    .addHelpText('after', EXAMPLES)
    .addCommand(
      toGroup('notifier', { name: 'task', summary: 'Commands to run soon.' }, taskVerbs, kit),
    )
    .addCommand(
      toGroup(
        'notifier',
        { name: 'timer', summary: 'Commands to run at set times.' },
        timerVerbs,
        kit,
      ),
    );
  for (const verb of daemonVerbs) program.addCommand(toCommand(verb, kit));
  return program;
}
