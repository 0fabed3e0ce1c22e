import { createProgram } from './program.ts';
import { reportError } from './report-error.ts';
import { runProgram } from './run-program.ts';
import type { World } from './world.ts';

/** Runs one command line of `quipu` (without the program's name) and returns its exit code: 0, 1 or 2. */
export async function runCli(argv: readonly string[], world: World): Promise<number> {
  return runProgram(await createProgram(world, argv[0]), argv, {
    out: (text) => world.out(text),
    err: (text) => world.err(text),
    report: (error, json) => reportError(error, json, world),
  });
}
