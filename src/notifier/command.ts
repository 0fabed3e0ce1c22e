import { Command } from 'commander';
import { hasSpool, locateHome, makeSpool } from './spool/home.ts';
import { nodeSpoolIo } from './spool/node-spool-io.ts';
import { Spool } from './spool/spool.ts';
import type { World } from './world.ts';

/** What the options of every command come to. */
export interface CommandIo {
  readonly world: World;
  readonly home: string;
  readonly json: boolean;
  /** Undefined when there is none: nothing was ever added. */
  findSpool(): Spool | undefined;
  /** Makes it when there is none. */
  makeSpool(): Promise<Spool>;
  /** One value on a line of its own with `--json`, else the text. */
  print(text: string, value: unknown): Promise<void>;
}

interface CommonOptions {
  readonly home?: string;
  readonly json?: boolean;
}

/** A command with the options that all share, and examples under its help. */
export function defineCommand(name: string, summary: string, examples: readonly string[]): Command {
  return new Command(name)
    .description(summary)
    .option('--home <folder>', 'the spool (default: $NOTIFIER_HOME, ~/.local/share/notifier)')
    .option('--json', 'print JSON, one value a line')
    .addHelpText('after', `\nExamples:\n${examples.map((line) => `  $ ${line}\n`).join('')}`);
}

/** Gives a command's action its `CommandIo`, before the arguments and options it declared. */
export function withIo<A extends unknown[]>(
  world: World,
  action: (io: CommandIo, ...given: A) => Promise<void>,
): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    const command = given.at(-1) as Command;
    const io = toCommandIo(world, command.opts<CommonOptions>());
    await action(io, ...(given.slice(0, -1) as A));
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
