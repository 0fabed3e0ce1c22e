import { runProgram } from '../cli/run-program.ts';
import { createProgram } from './program.ts';
import { reportFailure } from './report-failure.ts';
import type { World } from './world.ts';

/** Runs one command line of `notifier` (without the program's name) and returns its exit code: 0, 1 or 2. */
export async function runNotifier(argv: readonly string[], world: World): Promise<number> {
  return runProgram(createProgram(world), argv, {
    out: (text) => world.out(text),
    err: (text) => world.err(text),
    report: (error, json) => reportFailure(error, json, world),
  });
}
