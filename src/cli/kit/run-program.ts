import type { Command } from 'commander';
import { CommanderError } from 'commander';

/** The part of the shell that every command line needs, whatever its commands need. */
export interface ProgramIo {
  out(text: string): Promise<void>;
  err(text: string): void;
  /** Reports the error, for people or as JSON, and returns the exit code. */
  report(error: unknown, json: boolean): number;
}

/**
 * Runs one command line (without the program's name) and returns its exit code: 0, 1 or 2. `create` makes the parser
 * for the first word. `help context append` means `context append --help`.
 */
export async function runProgram(
  create: (firstWord?: string) => Promise<Command>,
  argv: readonly string[],
  io: ProgramIo,
): Promise<number> {
  let help = '';
  try {
    const words = argv[0] === 'help' ? argv.slice(1) : argv;
    const program = await create(words[0]);
    silence(program, (text) => {
      help += text;
    });
    await program.parseAsync(words === argv ? words : toHelpOf(program, words), { from: 'user' });
    return 0;
  } catch (error) {
    if (!isHelp(error)) return io.report(error, wantsJson(argv));
    if (error.exitCode === 0) return await printHelp(help, io);
    io.err(help);
    return 2;
  }
}

/** The words that show the help of a command. An unknown one is left to the parser, which names the nearest. */
function toHelpOf(program: Command, words: readonly string[]): string[] {
  const path: string[] = [];
  let at = program;
  for (const word of words) {
    const next = at.commands.find((command) => command.name() === word);
    if (next === undefined && at.commands.length > 0) return [...path, word];
    if (next === undefined) break;
    path.push(word);
    at = next;
  }
  return [...path, '--help'];
}

/** Makes the parser throw instead of exiting, and collects its texts instead of printing them. */
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

/** This looks at the words alone, because the command line itself may be wrong. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end === -1 ? argv.length : end).includes('--json');
}
