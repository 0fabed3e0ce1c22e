import { Command } from 'commander';
import { readVersion } from '../version.ts';
import { showExamples, toCommand } from '../verb.ts';
import type { Kit } from '../verb.ts';
import type { ThreadShell } from './thread-shell.ts';
import { threadVerbs } from './verbs.ts';

const END = `
More: thread --help --verbose, and thread <command> --help --verbose
Exit codes: 0 done, 1 it cannot be done, 2 the command line or the input is wrong.`;

const EXAMPLES = `
Examples:
  $ thread init ./inbox
  $ thread subscribe --thread ./inbox --consumer worker-1 --handler "./work.sh"
  $ thread push --thread ./inbox --source internal:dm:default:warden --type message --content hello
  $ thread pop --thread ./inbox --consumer worker-1 --last-event-id 0
  $ thread info --thread ./inbox
`;

/** `verbose`: every help has examples and explanations. */
export function createThreadProgram(shell: ThreadShell, verbose: boolean): Command {
  const program = new Command('thread')
    .description('Durable event queues in directories.')
    .version(readVersion())
    .addHelpText('after', verbose ? EXAMPLES + END : END);
  const kit: Kit<ThreadShell> = {
    common: () => [],
    toIo: () => shell,
    help: ({ name, more = '', examples }) =>
      verbose ? more + showExamples(examples) : `\nMore: thread ${name} --help --verbose`,
  };
  for (const verb of threadVerbs) program.addCommand(toCommand(verb, kit));
  return program;
}
