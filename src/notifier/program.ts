import { CommanderError, type Command } from 'commander';
import { alone, toCommands, type Program } from '../cli/kit/verb.ts';
import { Refused, commonOptions, toCommandIo } from './nouns/command.ts';
import type { CommandIo, CommonOptions, NotifierShell } from './nouns/command.ts';
import { daemonVerbs } from './nouns/daemon.ts';
import { taskVerbs } from './nouns/task.ts';
import { timerVerbs } from './nouns/timer.ts';
import { reportTold, runProgram, usageError, type Told } from '../cli/kit/run-program.ts';
import { isQuipuError } from '../base/errors.ts';
import { EXIT_CODE } from '../cli/kit/report-error.ts';
import { outputHint } from '../cli/kit/process.ts';
import { toQuipuError } from '../engine/files/disk/io-error.ts';

export const notifier: Program<CommandIo> = {
  name: 'notifier',
  summary: 'Runs commands in the background: soon, once, or at set times.',
  examples: [
    'notifier task add --task-id report --command "make report"',
    'notifier task list',
    'notifier timer add --timer-id nightly --cron "30 2 * * *" --command "make report"',
  ],
  exits: '0 done, 1 refused (such as a task that is already pending), 2 the command line is wrong',
  common: commonOptions,
  nouns: [
    { name: 'task', summary: 'Commands to run soon.', load: async () => taskVerbs },
    { name: 'timer', summary: 'Commands to run at set times.', load: async () => timerVerbs },
    alone(async () => daemonVerbs),
    alone(async () => {
      const { completionVerb } = await import('../cli/kit/completion.ts');
      return [completionVerb(notifier, (io, text) => io.shell.out(text))];
    }),
  ],
};

export async function createProgram(shell: NotifierShell, firstWord?: string): Promise<Command> {
  return toCommands(notifier, {
    firstWord,
    toIo: (command) => toCommandIo(shell, command.opts<CommonOptions>()),
  });
}

/** Runs one command line of `notifier` (without the program's name) and returns its exit code: 0, 1 or 2. */
export async function runNotifier(argv: readonly string[], shell: NotifierShell): Promise<number> {
  return runProgram((firstWord) => createProgram(shell, firstWord), argv, {
    out: (text) => shell.out(text),
    err: (text) => shell.err(text),
    report: reportTold(tell, shell),
  });
}

function tell(thrown: unknown): Told {
  if (thrown instanceof Refused) {
    return { error: thrown.message, suggestion: thrown.suggestion, exit: 1 };
  }
  if (thrown instanceof CommanderError) {
    return { error: usageError(thrown), suggestion: 'see --help', exit: 2 };
  }
  const { path } = thrown as NodeJS.ErrnoException;
  const known = toQuipuError(thrown, path ?? 'the spool');
  if (!isQuipuError(known)) {
    const where = known.stack ?? known.message;
    return { error: `internal error: ${where}`, suggestion: 'please report it', exit: 1 };
  }
  const exit = EXIT_CODE[known.code];
  const suggestion = outputHint(known) ?? suggest(exit, known.code);
  return { error: known.message, suggestion, exit };
}

function suggest(exit: 1 | 2, code: string): string {
  if (exit === 2) return 'see --help';
  if (code === 'DISK_FULL') return 'free some space and try again';
  if (code === 'READ_ONLY' || code === 'FORBIDDEN')
    return 'choose another folder with --home or NOTIFIER_HOME';
  return 'see "notifier status"';
}
