import { option, showExamples } from '../cli/verb.ts';
import type { Kit, Verb } from '../cli/verb.ts';
import { hasSpool, locateHome, makeSpool } from './spool/home.ts';
import { nodeSpoolIo } from './spool/node-spool-io.ts';
import { Spool } from './spool/spool.ts';
import type { World } from './world.ts';

/** The context of a command, made from the options that every command takes. */
export interface CommandIo {
  readonly world: World;
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

export function notifierKit(world: World): Kit<CommandIo> {
  return {
    common: () => [
      option('--home <folder>', 'the spool (default: $NOTIFIER_HOME, ~/.local/share/notifier)'),
      option('--json', 'print JSON, one value a line'),
    ],
    help: ({ examples }) => showExamples(examples),
    toIo: (command) => toCommandIo(world, command.opts<CommonOptions>()),
  };
}

function toCommandIo(world: World, options: CommonOptions): CommandIo {
  const { env, cwd, userHome } = world;
  const home = locateHome({ given: options.home, env, cwd, userHome });
  const json = options.json ?? false;
  const open = (): Spool => new Spool(home, nodeSpoolIo, () => world.now());
  return {
    world,
    home,
    json,
    findSpool: () => (hasSpool(home) ? open() : undefined),
    async makeSpool() {
      await makeSpool(home);
      return open();
    },
    print: (text, value) => world.out(json ? `${JSON.stringify(value)}\n` : text),
  };
}
