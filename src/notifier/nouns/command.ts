import type { Option } from 'commander';
import { option, type Takes, type TypedVerb, type Verb } from '../../cli/kit/verb.ts';
import { hasSpool, locateHome, makeSpool } from '../spool/home.ts';
import { nodeSpoolIo, Spool } from '../spool/spool.ts';

/** The shell that called `notifier`: all that a command may touch besides the spool. */
export interface NotifierShell {
  /** Standard output. Rejects with EPIPE when nobody reads on. */
  out(text: string): Promise<void>;
  /** Standard error. */
  err(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly userHome: string;
  /** The zone whose clocks this machine shows. */
  readonly zone: string;
  readonly platform: string;
  /** Paths of the program that runs scripts, and of the scripts. */
  readonly programs: { readonly node: string; readonly notifier: string; readonly thread: string };
  now(): number;
  /**
   * Starts this program with these arguments in a process that outlives this one. The errors of the new process go to
   * `log`.
   */
  spawn(argv: readonly string[], log: string): Promise<void>;
  /** From this call on, Ctrl-C and a termination request abort the signal and no longer kill. */
  catchInterrupt(): AbortSignal;
}

/** The context of a command, made from the options that every command takes. */
export interface CommandIo {
  readonly shell: NotifierShell;
  readonly home: string;
  readonly json: boolean;
  /** Returns undefined when there is no spool: nothing was ever added. */
  findSpool(): Spool | undefined;
  /** Makes the spool when there is none. */
  makeSpool(): Promise<Spool>;
  /** Prints one value on a line of its own with `--json`, else the text. */
  print(text: string, value: unknown): Promise<void>;
}

export interface CommonOptions {
  readonly home?: string;
  readonly json?: boolean;
}

/** A verb of `notifier`. */
export type NotifierVerb = Verb<CommandIo>;

export function notifierVerb<const T extends Takes = []>(
  verb: TypedVerb<CommandIo, T>,
): NotifierVerb {
  return verb as unknown as NotifierVerb;
}

/** The options that every verb takes. */
export function commonOptions(): readonly Option[] {
  return [
    option('--home <folder>', 'the spool (default: $NOTIFIER_HOME, ~/.local/share/notifier)'),
    option('--json', 'print JSON, one value a line'),
  ];
}

export function toCommandIo(shell: NotifierShell, options: CommonOptions): CommandIo {
  const { env, cwd, userHome } = shell;
  const home = locateHome({ given: options.home, env, cwd, userHome });
  const json = options.json ?? false;
  const open = (): Spool => new Spool(home, nodeSpoolIo, () => shell.now());
  return {
    shell,
    home,
    json,
    findSpool: () => (hasSpool(home) ? open() : undefined),
    async makeSpool() {
      await makeSpool(home);
      return open();
    },
    print: (text, value) => shell.out(json ? `${JSON.stringify(value)}\n` : text),
  };
}

/** The command line was right, but its request cannot be carried out now. */
export class Refused extends Error {
  override readonly name: string = 'Refused';
  /** The next step for the user. */
  readonly suggestion: string;

  constructor(message: string, suggestion: string) {
    super(message);
    this.suggestion = suggestion;
  }
}

/** The folder and the variables with which a command is to run, as if the caller ran it. */
export function recordCaller({ cwd, env }: NotifierShell): {
  cwd: string;
  env: Record<string, string>;
} {
  const set = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return { cwd, env: Object.fromEntries(set) };
}
