import { existsSync } from 'node:fs';
import type { Option } from 'commander';
import type { Store } from '../store/store.ts';
import { parsePlace } from '../base/place.ts';
import type { Place } from '../base/place.ts';
import type { OpenOptions } from '../open-store.ts';
import { locateNewStore, locateStore } from './locate-store.ts';
import { parseSeconds } from './parse-argument.ts';
import { option, showExamples } from './verb.ts';
import type { Kit, Verb } from './verb.ts';
import type { QuipuShell } from './shell.ts';

const WAIT_SECONDS = 30;

/** The context of a command, made from the options that every command takes. */
export interface CommandIo {
  readonly shell: QuipuShell;
  readonly json: boolean;
  /** The directory or address of the store that the command means. */
  readonly place: string;
  /** The place of a new store, whether or not there is one at home. */
  readonly newPlace: string;
  /** The token for a server: the option, or `QUIPU_TOKEN`. */
  readonly token: string | undefined;
  /** Throws NOT_FOUND when there is no store. */
  openStore(place?: string): Promise<Store>;
  /** For commands that can be the first ever: creates the store when there is none. */
  createStore(place?: string): Promise<Store>;
  /** Prints one value on a line of its own, as JSON. */
  printJson(value: unknown): Promise<void>;
}

interface CommonOptions {
  readonly store?: string;
  readonly token?: string;
  readonly json?: boolean;
  readonly wait?: number;
}

/** A verb of `quipu`. */
export type QuipuVerb = Verb<CommandIo>;

export function quipuKit(shell: QuipuShell): Kit<CommandIo> {
  return {
    common: commonOptions,
    help: ({ more, examples }) => showExamples(examples) + (more ?? ''),
    toIo: (command) => toCommandIo(shell, command.optsWithGlobals<CommonOptions>()),
  };
}

/** The options that every verb and the program itself take. Each command needs its own copies. */
export function commonOptions(): readonly Option[] {
  return [
    option(
      '--store <place>',
      'a folder or the address of a server (default: $QUIPU_STORE, ./.quipu, ~/.quipu)',
    ),
    option('--token <token>', 'what to show a server (default: $QUIPU_TOKEN)'),
    option('--json', 'print JSON, one value a line'),
    option(
      '--wait <seconds>',
      `how long to wait for a process that does not answer (default: ${WAIT_SECONDS})`,
      parseSeconds,
    ),
  ];
}

function toCommandIo(shell: QuipuShell, options: CommonOptions): CommandIo {
  const { env, cwd, home } = shell;
  const places = { given: options.store, env, cwd, home, exists: existsSync };
  const place = locateStore(places);
  const token = options.token ?? (env['QUIPU_TOKEN'] || undefined);
  const waitMs = Math.round((options.wait ?? WAIT_SECONDS) * 1000);
  // A folder takes no token, and a server decides for itself whether to create anything.
  const ofServer = token === undefined ? {} : { token };
  const openAt = (at: string, create: boolean): Promise<Store> => {
    const options: Record<Place['kind'], OpenOptions> = {
      folder: { create, waitMs },
      server: ofServer,
      database: { create },
      unknown: {},
    };
    return shell.openStore(at, options[parsePlace(at).kind]);
  };
  return {
    shell,
    json: options.json ?? false,
    place,
    newPlace: locateNewStore(places),
    token,
    openStore: (at = place) => openAt(at, false),
    createStore: (at = place) => openAt(at, true),
    printJson: (value) => shell.out(`${JSON.stringify(value)}\n`),
  };
}
