import { createProgram } from './program.ts';
import { reportError } from './report-error.ts';
import { runProgram } from './run-program.ts';
import type { QuipuShell } from './shell.ts';

/** Runs one command line of `quipu` (without the program's name) and returns its exit code: 0, 1 or 2. */
export async function runCli(argv: readonly string[], shell: QuipuShell): Promise<number> {
  return runProgram(await createProgram(shell, argv[0]), argv, {
    out: (text) => shell.out(text),
    err: (text) => shell.err(text),
    report: (error, json) => reportError(error, json, shell),
  });
}
