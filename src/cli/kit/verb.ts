import { readFileSync } from 'node:fs';
import { Argument, Command, Option } from 'commander';

// The kit of all three programs, `quipu`, `thread` and `notifier`. A verb is a value. The parser, the help and the
// checks of the reference pages are made from it.

/** One verb of a command line. `Io` is the context that its program gives every verb. */
export interface Verb<Io> {
  readonly name: string;
  readonly summary: string;
  /** Text under the options, for which the summary has no room. */
  readonly more?: string;
  readonly takes?: readonly (Argument | Option)[];
  /** Command lines that work as they stand. */
  readonly examples: readonly string[];
  /** Called with the arguments in order, then the options. */
  readonly run: (io: Io, ...given: never[]) => Promise<void>;
}

/** Verbs of one thing, loaded when the thing is named: a hundred verbs took a fifth of the time of each one. */
export interface Noun<Io> {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<readonly Verb<Io>[]>;
}

/** The parts that the verbs of one program share. */
export interface Kit<Io> {
  /** Options that every verb takes. */
  readonly common: () => readonly Option[];
  readonly toIo: (command: Command) => Io;
  /** The text under the options of a verb's help. */
  readonly help: (verb: Verb<Io>) => string;
}

/** `before` is the value so far of an option that may be given many times. */
type Parse = (text: string, before: never) => unknown;

export function argument(name: string, about: string, parse?: Parse, preset?: unknown): Argument {
  const made = new Argument(name, about);
  if (parse !== undefined) made.argParser(parse as (text: string, before: unknown) => unknown);
  return preset === undefined ? made : made.default(preset);
}

export function option(flags: string, about: string, parse?: Parse, preset?: unknown): Option {
  const made = new Option(flags, about);
  if (parse !== undefined) made.argParser(parse as (text: string, before: unknown) => unknown);
  return preset === undefined ? made : made.default(preset);
}

/** An option without which the verb does not run. */
export function required(flags: string, about: string, parse?: Parse): Option {
  return option(flags, about, parse).makeOptionMandatory();
}

export function toCommand<Io>(verb: Verb<Io>, kit: Kit<Io>): Command {
  const command = new Command(verb.name)
    .description(verb.summary)
    .addHelpText('after', kit.help(verb));
  for (const common of kit.common()) command.addOption(common);
  for (const taken of verb.takes ?? []) {
    if (taken instanceof Option) command.addOption(taken);
    else command.addArgument(taken);
  }
  const run = verb.run as (io: Io, ...given: unknown[]) => Promise<void>;
  return command.action(async (...given: unknown[]) => {
    await run(kit.toIo(given.at(-1) as Command), ...given.slice(0, -1));
  });
}

export function showExamples(examples: readonly string[]): string {
  return `\nExamples:\n${examples.map((line) => `  $ ${line}\n`).join('')}`;
}

/** A command that only leads to the verbs of a noun. */
export function toGroup<Io>(
  program: string,
  { name, summary }: Pick<Noun<Io>, 'name' | 'summary'>,
  verbs: readonly Verb<Io>[],
  kit: Kit<Io>,
): Command {
  const group = new Command(name)
    .description(summary)
    .enablePositionalOptions()
    .addHelpText('after', `\nEvery command has examples: ${program} ${name} <command> --help`);
  for (const verb of verbs) group.addCommand(toCommand(verb, kit));
  return group;
}

/** The version of the package this file belongs to, built or not. */
export function readVersion(): string {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
