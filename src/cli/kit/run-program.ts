import { CommanderError, Command } from 'commander';
import { escapeControls } from './text.ts';

/** The part of the shell that every command line needs, whatever its commands need. */
export interface ProgramIo {
  out(text: string): Promise<void>;
  err(text: string): void;
  /** Reports the error, for people or as JSON, and returns the exit code. */
  report(error: unknown, json: boolean): number;
}

/** Says what went wrong, and what to do. */
export interface Told {
  readonly error: string;
  readonly suggestion: string;
  readonly exit: 1 | 2;
}

/** Reports an error as `Error: <what went wrong> - <how to fix>`, or as `{"error","suggestion"}`. */
export function reportTold(
  tell: (thrown: unknown) => Told,
  io: Pick<ProgramIo, 'err'>,
): ProgramIo['report'] {
  return (thrown, json) => {
    // Nobody reads on.
    if ((thrown as NodeJS.ErrnoException).code === 'EPIPE') return 0;
    const { error, suggestion, exit } = tell(thrown);
    const text = `Error: ${escapeControls(error)} - ${escapeControls(suggestion)}`;
    io.err(`${json ? JSON.stringify({ error, suggestion }) : text}\n`);
    return exit;
  };
}

/** The message of a command line that is wrong, on one line. */
export function usageError({ message }: CommanderError): string {
  return message.replace(/^error: /, '').replaceAll('\n', ' ');
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
    if (!isHelp(error))
      return io.report(await withSuggestion(error, create, argv), wantsJson(argv));
    if (error.exitCode === 0) return await printHelp(help, io);
    io.err(help);
    return 2;
  }
}

/** Adds what may have been meant to the error for an unknown command. All commands are loaded for it. */
async function withSuggestion(
  error: unknown,
  create: () => Promise<Command>,
  argv: readonly string[],
): Promise<unknown> {
  if (!(error instanceof CommanderError) || error.code !== 'commander.unknownCommand') return error;
  const [what = '', word = ''] = /^error: unknown command '([^]*?)'/.exec(error.message) ?? [];
  const program = await create();
  const paths = pathsIn(program);
  const noun = argv[argv.indexOf(word) - 1] ?? '';
  const isNoun = paths.some((path) => path.length > 1 && path[0] === noun);
  const lines = suggest({ word, before: isNoun ? [noun] : [] }, paths);
  if (lines.length === 0) return error;
  const listed = lines.map((line) => `${program.name()} ${line}`).join(', ');
  const mean = `(Did you mean ${lines.length > 1 ? 'one of ' : ''}${listed}?)`;
  return new CommanderError(error.exitCode, error.code, `${what}\n${mean}`);
}

/** The words of all commands that the help has, such as `['context', 'append']`, and those of their nouns. */
function pathsIn(command: Command): string[][] {
  const visible = command.createHelp().visibleCommands(command);
  return visible.flatMap((child) => [
    [child.name()],
    ...pathsIn(child).map((path) => [child.name(), ...path]),
  ]);
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

// Suggestions for a word that is no command. The parser knows the near misses among the commands at one place.
// This also knows the words of other programs, and the commands at other places.

/** Words that people know from elsewhere, with the verbs that do the same here. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  add: ['create'],
  branch: ['fork'],
  cat: ['show', 'get'],
  checkout: ['move'],
  clone: ['copy', 'fork'],
  del: ['rm'],
  delete: ['rm'],
  dump: ['export'],
  find: ['search'],
  get: ['show'],
  grep: ['search'],
  history: ['log'],
  info: ['show', 'stats'],
  inspect: ['show'],
  load: ['import'],
  log: ['show'],
  ls: ['list'],
  make: ['create'],
  new: ['create'],
  open: ['show', 'create'],
  print: ['show'],
  remove: ['rm'],
  save: ['export', 'backup'],
  status: ['stats', 'doctor'],
  tail: ['follow'],
  tree: ['log'],
  view: ['show'],
  watch: ['follow'],
  write: ['append'],
};

const SHOWN_MAX = 4;

/** An unknown word, and the words before it that are known. */
export interface Unknown {
  readonly word: string;
  readonly before: readonly string[];
}

/**
 * The command lines that may have been meant, best first. `paths` has all commands as their words, such as
 * `['context', 'append']`. Empty: the word is like nothing here.
 */
export function suggest(
  { word, before }: Unknown,
  paths: readonly (readonly string[])[],
): readonly string[] {
  const meant = Object.hasOwn(SYNONYMS, word) ? (SYNONYMS[word] ?? []) : [];
  // A verb of the library, such as `moveHead`, often has the verb of the command in it.
  const parts = word.split(/[-_]|(?=[A-Z])/).map((part) => part.toLowerCase());
  const verbs = (place: readonly string[]): string[] =>
    paths
      .filter((path) => path.slice(0, -1).join(' ') === place.join(' '))
      .map((path) => path.join(' '));
  const here = verbs(before);
  const alone = verbs([]);
  const named = (lines: readonly string[], wanted: readonly string[]): string[] =>
    wanted.flatMap((verb) => lines.filter((line) => line.split(' ').at(-1) === verb));
  const everywhere = paths.map((path) => path.join(' '));
  const choices = [
    () => [...named(alone, [word]), ...named(here, meant)],
    () => [...named(everywhere, [word]), ...named(alone, meant)],
    () => nearest(word, here),
    () => named(here, parts),
    () => named(everywhere, meant),
    () => nearest(word, everywhere),
  ];
  for (const choose of choices) {
    const found = [...new Set(choose())];
    if (found.length > 0) return found.slice(0, SHOWN_MAX);
  }
  return [];
}

/** The lines whose verb is most like the word, as the parser measures it. */
function nearest(word: string, lines: readonly string[]): string[] {
  const probe = new Command().exitOverride().configureOutput({ outputError: () => undefined });
  const verbs = new Set(lines.map((line) => line.split(' ').at(-1) ?? ''));
  for (const verb of verbs) probe.command(verb);
  try {
    probe.parse([word], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const [, listed = ''] = /\(Did you mean (?:one of )?(.*)\?\)$/.exec(error.message) ?? [];
    const like = new Set(listed.split(', '));
    return lines.filter((line) => like.has(line.split(' ').at(-1) ?? ''));
  }
  return [];
}
