import { runProgram } from '../run-program.ts';
import { reportThreadError } from './report-thread-error.ts';
import { createThreadProgram } from './thread-program.ts';
import type { ThreadWorld } from './thread-world.ts';

const VERBOSE = '--verbose';

/** Runs one command line of `thread` (without the program's name) and returns its exit code. */
export async function runThread(argv: readonly string[], world: ThreadWorld): Promise<number> {
  // The word belongs to the help alone, so that it is an unknown option anywhere else.
  const asksHelp = argv.includes('--help') || argv.includes('-h') || argv[0] === 'help';
  const verbose = asksHelp && argv.includes(VERBOSE);
  const words = verbose ? argv.filter((word) => word !== VERBOSE) : argv;
  return runProgram(createThreadProgram(world, verbose), words, {
    out: (data) => world.out(data),
    err: (text) => world.err(text),
    report: (error, json) => reportThreadError(error, json, { world, argv }),
  });
}
