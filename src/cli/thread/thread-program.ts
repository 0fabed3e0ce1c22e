import { Command } from 'commander';
import { readVersion } from '../version.ts';
import { dispatch } from './commands/dispatch.ts';
import { info } from './commands/info.ts';
import { init } from './commands/init.ts';
import { peek } from './commands/peek.ts';
import { pop } from './commands/pop.ts';
import { push } from './commands/push.ts';
import { subscribe } from './commands/subscribe.ts';
import { unsubscribe } from './commands/unsubscribe.ts';
import { verify } from './commands/verify.ts';
import type { ThreadWorld } from './thread-world.ts';

const COMMANDS: readonly ((world: ThreadWorld, verbose: boolean) => Command)[] = [
  init,
  push,
  pop,
  peek,
  subscribe,
  unsubscribe,
  info,
  dispatch,
  verify,
];

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

/** `verbose`: with examples and explanations in every help. */
export function createThreadProgram(world: ThreadWorld, verbose: boolean): Command {
  const program = new Command('thread')
    .description('Durable event queues in directories.')
    .version(readVersion())
    .addHelpText('after', verbose ? EXAMPLES + END : END);
  for (const build of COMMANDS) program.addCommand(build(world, verbose));
  return program;
}
