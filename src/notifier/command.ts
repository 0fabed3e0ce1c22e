import { option, showExamples } from '../cli/verb.ts';
import type { Kit, Verb } from '../cli/verb.ts';
import { hasSpool, locateHome, makeSpool } from './spool/home.ts';
import { nodeSpoolIo } from './spool/node-spool-io.ts';
import { Spool } from './spool/spool.ts';
import type { NotifierShell } from './shell.ts';

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

interface CommonOptions {
  readonly home?: string;
  readonly json?: boolean;
}

/** A verb of `notifier`. */
export type NotifierVerb = Verb<CommandIo>;

export function notifierKit(shell: NotifierShell): Kit<CommandIo> {
  return {
    common: () => [
      option('--home <folder>', 'the spool (default: $NOTIFIER_HOME, ~/.local/share/notifier)'),
      option('--json', 'print JSON, one value a line'),
    ],
    help: ({ examples }) => showExamples(examples),
    toIo: (command) => toCommandIo(shell, command.opts<CommonOptions>()),
  };
}

function toCommandIo(shell: NotifierShell, options: CommonOptions): CommandIo {
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
