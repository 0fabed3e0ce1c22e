import { runProgram } from '../cli/run-program.ts';
import { createProgram } from './program.ts';
import { reportFailure } from './report-failure.ts';
import type { NotifierShell } from './shell.ts';

/** Runs one command line of `notifier` (without the program's name) and returns its exit code: 0, 1 or 2. */
export async function runNotifier(argv: readonly string[], shell: NotifierShell): Promise<number> {
  return runProgram(createProgram(shell), argv, {
    out: (text) => shell.out(text),
    err: (text) => shell.err(text),
    report: (error, json) => reportFailure(error, json, shell),
  });
}
