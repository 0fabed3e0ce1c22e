import type { Command } from 'commander';
import { CommanderError } from 'commander';
import { createProgram } from './program.ts';
import { reportError } from './report-error.ts';
import type { World } from './world.ts';

/** Runs one command line (without the program's name) and gives its exit code: 0, 1 or 2. */
export async function runCli(argv: readonly string[], world: World): Promise<number> {
  const program = createProgram(world);
  let help = '';
  silence(program, (text) => {
    help += text;
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
    return 0;
  } catch (error) {
    if (!isHelp(error)) return reportError(error, wantsJson(argv), world);
    if (error.exitCode === 0) return await printHelp(help, world);
    world.err(help);
    return 2;
  }
}

/** The parser throws instead of exiting, and its texts are collected instead of printed. */
function silence(command: Command, collectHelp: (text: string) => void): void {
  command.exitOverride();
  command.configureOutput({
    writeOut: collectHelp,
    writeErr: collectHelp,
    outputError: () => undefined,
  });
  for (const child of command.commands) silence(child, collectHelp);
}

function isHelp(error: unknown): error is CommanderError {
  return (
    error instanceof CommanderError &&
    ['commander.help', 'commander.helpDisplayed', 'commander.version'].includes(error.code)
  );
}

async function printHelp(help: string, world: World): Promise<number> {
  try {
    await world.out(help);
    return 0;
  } catch (error) {
    return reportError(error, false, world);
  }
}

/** Decided from the words alone, because the command line may be what is wrong. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end === -1 ? argv.length : end).includes('--json');
}
