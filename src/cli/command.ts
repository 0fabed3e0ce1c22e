import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { isQuipuError } from '../base/errors.ts';
import type { Store } from '../store/store.ts';
import { locateNewStore, locateStore } from './locate-store.ts';
import { parseSeconds } from './parse-argument.ts';
import type { World } from './world.ts';

/** How long to wait before asking again for a store that another process holds. */
const LOCK_POLL_MS = 25;
const LOCK_WAIT_SECONDS = 2;

/** What the options of every command come to. */
export interface CommandIo {
  readonly world: World;
  readonly json: boolean;
  /** The directory or address of the store that is meant. */
  readonly place: string;
  /** Where to make a store, whether or not there is one at home. */
  readonly newPlace: string;
  /** NOT_FOUND when there is none. */
  openStore(place?: string): Promise<Store>;
  /** For commands that can be the first ever: makes the store when there is none. */
  createStore(place?: string): Promise<Store>;
  /** One value on a line of its own, as JSON. */
  printJson(value: unknown): Promise<void>;
}

interface CommonOptions {
  readonly store?: string;
  readonly json?: boolean;
  readonly wait?: number;
}

/** A command with the options that all share, and examples under its help. */
export function defineCommand(name: string, summary: string, examples: readonly string[]): Command {
  return addCommonOptions(new Command(name))
    .description(summary)
    .addHelpText('after', `\nExamples:\n${examples.map((line) => `  $ ${line}\n`).join('')}`);
}

export function addCommonOptions(command: Command): Command {
  return command
    .option('--store <dir>', 'the store (default: $QUIPU_STORE, ./.quipu, ~/.quipu)')
    .option('--json', 'print JSON, one value a line')
    .option(
      '--wait <seconds>',
      `how long to wait for a store in use (default: ${LOCK_WAIT_SECONDS})`,
      parseSeconds,
    );
}

/** Gives a command's action its `CommandIo`, before the arguments and options it declared. */
export function withIo<A extends unknown[]>(
  world: World,
  action: (io: CommandIo, ...given: A) => Promise<void>,
): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    const command = given.at(-1) as Command;
    const io = toCommandIo(world, command.optsWithGlobals<CommonOptions>());
    await action(io, ...(given.slice(0, -1) as A));
  };
}

function toCommandIo(world: World, options: CommonOptions): CommandIo {
  const { env, cwd, home } = world;
  const places = { given: options.store, env, cwd, home, exists: existsSync };
  const place = locateStore(places);
  const waitMs = (options.wait ?? LOCK_WAIT_SECONDS) * 1000;
  return {
    world,
    json: options.json ?? false,
    place,
    newPlace: locateNewStore(places),
    openStore: (at = place) => openWhenFree(world, at, { create: false, waitMs }),
    createStore: (at = place) => openWhenFree(world, at, { create: true, waitMs }),
    printJson: (value) => world.out(`${JSON.stringify(value)}\n`),
  };
}

/** Commands are short, so a store in use is often free a moment later. */
async function openWhenFree(
  world: World,
  place: string,
  how: { readonly create: boolean; readonly waitMs: number },
): Promise<Store> {
  const giveUpAt = world.now() + how.waitMs;
  for (;;) {
    try {
      return await world.openStore(place, { create: how.create });
    } catch (error) {
      if (!isQuipuError(error, 'LOCKED') || world.now() >= giveUpAt) throw error;
    }
    await sleep(LOCK_POLL_MS);
  }
}
