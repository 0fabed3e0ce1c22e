import { runProgram } from '../run-program.ts';
import { reportThreadError } from './report-thread-error.ts';
import { createThreadProgram } from './thread-program.ts';
import type { ThreadShell } from './thread-shell.ts';

const VERBOSE = '--verbose';

/** Runs one command line of `thread` (without the program's name) and returns its exit code. */
export async function runThread(argv: readonly string[], shell: ThreadShell): Promise<number> {
  // The word belongs to the help alone, so that it is an unknown option anywhere else.
  const asksHelp = argv.includes('--help') || argv.includes('-h') || argv[0] === 'help';
  const verbose = asksHelp && argv.includes(VERBOSE);
  const words = verbose ? argv.filter((word) => word !== VERBOSE) : argv;
  return runProgram(createThreadProgram(shell, verbose), words, {
    out: (data) => shell.out(data),
    err: (text) => shell.err(text),
    report: (error, json) => reportThreadError(error, json, { shell, argv }),
  });
}
