import type { Command } from 'commander';
import { CommanderError } from 'commander';

/** What a command line needs of the world around it, whatever its commands need. */
export interface ProgramIo {
  out(text: string): Promise<void>;
  err(text: string): void;
  /** Says what went wrong, for people or as JSON, and gives the exit code. */
  report(error: unknown, json: boolean): number;
}

/** Runs one command line (without the program's name) and gives its exit code: 0, 1 or 2. */
export async function runProgram(
  program: Command,
  argv: readonly string[],
  io: ProgramIo,
): Promise<number> {
  let help = '';
  silence(program, (text) => {
    help += text;
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
    return 0;
  } catch (error) {
    if (!isHelp(error)) return io.report(error, wantsJson(argv));
    if (error.exitCode === 0) return await printHelp(help, io);
    io.err(help);
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

async function printHelp(help: string, io: ProgramIo): Promise<number> {
  try {
    await io.out(help);
    return 0;
  } catch (error) {
    return io.report(error, false);
  }
}

/** Decided from the words alone, because the command line may be what is wrong. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end === -1 ? argv.length : end).includes('--json');
}
