import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { readVersion } from './process.ts';

// The kit of all three programs, `quipu`, `thread` and `notifier`. A program is a value, and so is each of its verbs.
// The parser, the help, the completions and the reference pages are made from these values.

/** One verb of a command line. `Io` is the context that its program gives every verb. */
export interface Verb<Io> {
  readonly name: string;
  /** Older names, which still work. The help, the completions and the reference do not mention them. */
  readonly aliases?: readonly string[];
  readonly summary: string;
  /** Paragraphs for which the summary has no room. */
  readonly more?: string;
  readonly takes?: readonly (Argument | Option)[];
  /** Command lines that work as they stand. */
  readonly examples: readonly string[];
  /** The meaning of the exit codes, where it differs from that of the program's other verbs. */
  readonly exits?: string;
  /** The help of the program does not list the verb. */
  readonly hidden?: true;
  /** Called with the arguments in order, then the options. */
  readonly run: (io: Io, ...given: never[]) => Promise<void>;
}

/**
 * Verbs of one thing, loaded when the thing is named: a hundred verbs took a fifth of the time of each one.
 */
export interface Noun<Io> {
  /** Empty for verbs that stand alone. */
  readonly name: string;
  readonly summary: string;
  /** Works, but nothing mentions it. */
  readonly hidden?: true;
  readonly load: () => Promise<readonly Verb<Io>[]>;
}

/** A command line as a value. */
export interface Program<Io> {
  readonly name: string;
  readonly summary: string;
  readonly examples: readonly string[];
  /** The meaning of the exit codes. */
  readonly exits: string;
  /** In the order of the help. */
  readonly nouns: readonly Noun<Io>[];
  /** Options that every verb takes. Each command needs its own copies. */
  readonly common: () => readonly Option[];
  /** The options stand before the noun, too. */
  readonly commonFirst?: true;
}

/** A call of a program: the parts that are not in its value. */
export interface Calling<Io> {
  readonly toIo: (command: Command) => Io;
  /** The first word decides what is loaded: its noun, the verbs that stand alone, or everything. */
  readonly firstWord?: string | undefined;
  /** The help has no examples and says how to get them. */
  readonly brief?: boolean;
}

// The arguments of a verb have the types of its function: `--max-age <time>` gives `maxAge`, and the parser of
// the option says of which type.

declare const GIVES: unique symbol;
/** An option, with the field that it adds to the options of its verb. */
export type OptionOf<Field> = Option & { readonly [GIVES]: Field };
/** An argument, with the type of its value. */
export type ArgumentOf<Value> = Argument & { readonly [GIVES]: readonly [Value] };

export type Takes = readonly (Argument | Option)[];

type ArgumentsIn<T extends Takes> = T extends readonly [infer First, ...infer Rest extends Takes]
  ? First extends ArgumentOf<infer Value>
    ? [Value, ...ArgumentsIn<Rest>]
    : ArgumentsIn<Rest>
  : [];
type FieldIn<Taken> = Taken extends OptionOf<infer Field> ? (field: Field) => void : never;
/** The options of a verb, from what it takes. */
export type OptionsIn<T extends Takes> =
  FieldIn<T[number]> extends (fields: infer Fields) => void ? Fields : never;

/** What the function of a verb is given: the arguments in order, then the options. */
export type GivenIn<T extends Takes> = [...ArgumentsIn<T>, OptionsIn<T>];

/** The words of a verb, with the types of what it takes. */
export interface VerbWords<Io, T extends Takes> extends Omit<Verb<Io>, 'run' | 'takes'> {
  readonly takes?: T;
}

/** A verb whose function is given what the verb takes. */
export interface TypedVerb<Io, T extends Takes> extends VerbWords<Io, T> {
  run(io: Io, ...given: GivenIn<T>): Promise<void>;
}

/** `before` is the value so far of an option that may be given many times. */
type Parse<Value> = (text: string, before: never) => Value;

type Camel<Words> = Words extends `${infer Word}-${infer Rest}`
  ? `${Word}${Capitalize<Camel<Rest> & string>}`
  : Words;
type Long<Flags> = Flags extends `${string}--${infer Name} ${string}`
  ? Name
  : Flags extends `${string}--${infer Name}`
    ? Name
    : never;
type NameOf<Flags> = (Long<Flags> extends `no-${infer Name}` ? Camel<Name> : Camel<Long<Flags>>) &
  string;
/** The value of flags or of an argument that nothing parses. */
type TextOf<Flags, Text = string> = Flags extends `${string}...${string}`
  ? readonly Text[]
  : Flags extends `${string}<${string}`
    ? Text
    : Flags extends `${string}[${string}`
      ? Text | true
      : boolean;
type Optional<Flags, Value> = OptionOf<{ readonly [Name in NameOf<Flags>]?: Value }>;
type Needed<Flags, Value> = OptionOf<{ readonly [Name in NameOf<Flags>]: Value }>;
type MaybeLeftOut<Name, Value> = Name extends `${string}...${string}`
  ? readonly Value[]
  : Name extends `[${string}`
    ? Value | undefined
    : Value;

export function argument<const Name extends string, Value = string>(
  name: Name,
  about: string,
  parse?: Parse<Value>,
): ArgumentOf<MaybeLeftOut<Name, Value>> {
  const made = new Argument(name, about);
  if (parse !== undefined) made.argParser(parse as (text: string, before: unknown) => Value);
  return made as ArgumentOf<MaybeLeftOut<Name, Value>>;
}

export function option<const Flags extends string, Value = TextOf<Flags>>(
  flags: Flags,
  about: string,
  parse?: Parse<Value>,
): Optional<Flags, Value> {
  const made = new Option(flags, about);
  if (parse !== undefined) made.argParser(parse as (text: string, before: unknown) => Value);
  return made as Optional<Flags, Value>;
}

/** An option that has a value also when it is not given. */
export function preset<const Flags extends string, Value = TextOf<Flags>>(
  flags: Flags,
  about: string,
  parse: Parse<Value> | undefined,
  value: Value,
): Needed<Flags, Value> {
  return option(flags, about, parse).default(value) as Option as Needed<Flags, Value>;
}

/** An option without which the verb does not run. */
export function required<const Flags extends string, Value = TextOf<Flags>>(
  flags: Flags,
  about: string,
  parse?: Parse<Value>,
): Needed<Flags, Value> {
  return option(flags, about, parse).makeOptionMandatory() as Option as Needed<Flags, Value>;
}

/** An option with one of a few values, and perhaps with one that it has when it is not given. */
export function oneOf<const Flags extends string, const Choice extends string>(
  flags: Flags,
  about: string,
  values: readonly Choice[],
): Optional<Flags, TextOf<Flags, Choice>>;
export function oneOf<const Flags extends string, const Choice extends string>(
  flags: Flags,
  about: string,
  values: readonly Choice[],
  value: NoInfer<Choice>,
): Needed<Flags, Choice>;
export function oneOf(
  flags: string,
  about: string,
  values: readonly string[],
  value?: string,
): Option {
  const made = new Option(flags, about).choices(values);
  if (!made.variadic) {
    made.argParser((text) => {
      if (values.includes(text)) return text;
      const listed = `${values.slice(0, -1).join(', ')} or ${values.at(-1) ?? ''}`;
      throw new InvalidArgumentError(`Allowed choices are ${listed}.`);
    });
  }
  return value === undefined ? made : made.default(value);
}

/** Verbs that stand alone, without a noun before them. */
export function alone<Io>(load: Noun<Io>['load']): Noun<Io> {
  return { name: '', summary: '', load };
}

/** All verbs of a program in the order of its help, each with the words that call it, such as `context append`. */
export async function listVerbs<Io>({ nouns }: Program<Io>): Promise<[string, Verb<Io>][]> {
  const shown = nouns.filter(({ hidden }) => hidden !== true);
  const lists = shown.map(async ({ name, load }) =>
    (await load()).map((verb): [string, Verb<Io>] => [`${name} ${verb.name}`.trim(), verb]),
  );
  return (await Promise.all(lists)).flat();
}

/** Makes the tree of commands, or the part of it that the first word needs. */
export async function toCommands<Io>(program: Program<Io>, calling: Calling<Io>): Promise<Command> {
  const { name, summary, examples, exits } = program;
  const { brief, firstWord } = calling;
  const shown = brief === true ? '' : showExamples(examples);
  const long =
    brief === undefined
      ? ''
      : `\nMore: ${name} --help --verbose, and ${name} <command> --help --verbose`;
  const root = new Command(name)
    .description(summary)
    .version(readVersion())
    .enablePositionalOptions()
    .addHelpText('after', `${shown}${long}\nExit codes: ${exits}.`);
  if (program.commonFirst === true) for (const common of program.common()) root.addOption(common);
  for (const [noun, verbs] of await loadFor(program, firstWord)) {
    const group = noun.name === '' ? root : toGroup(program, noun);
    for (const verb of verbs) {
      group.addCommand(toCommand(program, verb, calling), { hidden: verb.hidden ?? false });
      for (const alias of verb.aliases ?? []) {
        group.addCommand(toCommand(program, { ...verb, name: alias }, calling), { hidden: true });
      }
    }
    if (group !== root) root.addCommand(group, { hidden: noun.hidden ?? false });
  }
  return root;
}

type Loaded<Io> = readonly (readonly [Noun<Io>, readonly Verb<Io>[]])[];

async function loadFor<Io>(program: Program<Io>, firstWord?: string): Promise<Loaded<Io>> {
  const { nouns } = program;
  const load = (wanted: readonly Noun<Io>[]): Promise<Loaded<Io>> =>
    Promise.all(wanted.map(async (noun) => [noun, await noun.load()] as const));
  const named = nouns.filter(({ name }) => name !== '' && name === firstWord);
  if (named.length > 0) return load(named);
  const alone = await load(nouns.filter(({ name }) => name === ''));
  const isAlone = alone.some(([, verbs]) =>
    verbs.some(({ name, aliases = [] }) => [name, ...aliases].includes(firstWord ?? '')),
  );
  return isAlone ? alone : load(nouns);
}

function toCommand<Io>(program: Program<Io>, verb: Verb<Io>, calling: Calling<Io>): Command {
  const { brief, toIo } = calling;
  const { more, examples, exits = program.exits } = verb;
  const help =
    brief === true
      ? `\nMore: ${program.name} ${verb.name} --help --verbose`
      : `${more === undefined ? '' : `\n${more}\n`}${showExamples(examples)}\nExit codes: ${exits}.`;
  const command = new Command(verb.name).description(verb.summary).addHelpText('after', help);
  const common = program.common();
  for (const each of common) command.addOption(each);
  for (const taken of verb.takes ?? []) {
    if (taken instanceof Option) command.addOption(taken);
    else command.addArgument(taken);
  }
  const run = verb.run as (io: Io, ...given: unknown[]) => Promise<void>;
  // The options that every verb takes are for `toIo`.
  const isOwn = ([name]: [string, unknown]): boolean =>
    !common.some((option) => option.attributeName() === name);
  return command.action(async (...given: unknown[]) => {
    const options = Object.entries(given.at(-2) as object).filter(isOwn);
    const io = toIo(given.at(-1) as Command);
    await using _open = toDisposable(io);
    await run(io, ...given.slice(0, -2), Object.fromEntries(options));
  });
}

/** What a context has open is closed when the verb is done. */
function toDisposable(io: unknown): AsyncDisposable | undefined {
  const isOpen = typeof io === 'object' && io !== null && Symbol.asyncDispose in io;
  return isOpen ? (io as AsyncDisposable) : undefined;
}

/** A command that only leads to the verbs of a noun. */
function toGroup<Io>(program: Program<Io>, { name, summary }: Noun<Io>): Command {
  return new Command(name)
    .description(summary)
    .enablePositionalOptions()
    .addHelpText('after', `\nEvery command has examples: ${program.name} ${name} <command> --help`);
}

function showExamples(examples: readonly string[]): string {
  return `\nExamples:\n${examples.map((line) => `  $ ${line}\n`).join('')}`;
}
