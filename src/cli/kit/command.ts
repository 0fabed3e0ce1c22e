import { existsSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import type { Option } from 'commander';
import type { OpenOptions } from '../../open-store.ts';
import type { copyStore } from '../../copy-store.ts';
import type { restoreStore } from '../../restore-store.ts';
import type { Store } from '../../store/store.ts';
import type { Machine, ProcessStreams } from './process.ts';
import { invalid } from '../../base/errors.ts';
import { parsePlace, type Place } from '../../base/place.ts';
import { parseSeconds } from './parse.ts';
import { tableOf, toScreen, toPlainLine, type Column, type ShowRows } from './text.ts';
import { option } from './verb.ts';
import type { GivenIn, Takes, TypedVerb, Verb, VerbWords } from './verb.ts';
import type { Progress } from '../../engine/engine.ts';

/** The shell that called `quipu`: all that a command may touch besides the files it is told to read or write. */
export interface QuipuShell extends ProcessStreams {
  /** Opened on first use, so that a command that reads nothing does not wait for a terminal. */
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
  /** True when a person watches standard error. */
  readonly isTerminal: boolean;
  /** The width of the terminal at standard output. Undefined when standard output is no terminal. */
  readonly columns: number | undefined;
  openStore(url: string, options: OpenOptions): Promise<Store>;
  readonly restoreStore: typeof restoreStore;
  readonly copyStore: typeof copyStore;
  readonly machine: Machine;
  /** The words that call this program in a shell. */
  readonly program: string;
  now(): number;
  /** From this call on, Ctrl-C and a termination request abort the signal and no longer kill. */
  catchInterrupt(): AbortSignal;
}

const WAIT_SECONDS = 30;

/** The context of a command, made from the options that every command takes. Its end closes the stores. */
export interface CommandIo extends AsyncDisposable {
  readonly shell: QuipuShell;
  readonly json: boolean;
  /** The directory or address of the store that the command means. */
  readonly place: string;
  /** The option `--store`, as it was given. */
  readonly named: string | undefined;
  /** The place of a new store, whether or not there is one at home. */
  readonly newPlace: string;
  /** The token for a server: the option, or `QUIPU_TOKEN`. */
  readonly token: string | undefined;
  /** Throws NOT_FOUND when there is no store. The store is open until the command is done. */
  openStore(place?: string): Promise<Store>;
  /** For commands that can be the first ever: creates the store when there is none. */
  createStore(place?: string): Promise<Store>;
  /** Prints one value on a line of its own, as JSON. */
  printJson(value: unknown): Promise<void>;
  /** Prints a value: with `--json` as JSON, else as it is shown to people. */
  print<T>(value: T, show: (value: T) => string): Promise<void>;
  /** Prints a list: with `--json` one value a line, else a table, and nothing at all for an empty one. */
  printRows<T>(rows: readonly T[], show: ShowRows<T>): Promise<void>;
  /** Prints a value beside a list on standard error: with `--json` as JSON, else as the text. */
  note(value: Readonly<Record<string, unknown>>, text: string): void;
  /** Says with which option a list goes on. */
  noteMore(next: Readonly<Record<string, unknown>>): void;
}

export interface CommonOptions {
  readonly store?: string;
  readonly token?: string;
  readonly json?: boolean;
  readonly wait?: number;
}

/** A verb of `quipu`. */
export type QuipuVerb = Verb<CommandIo>;

/** Gives one value. */
interface Giving<T extends Takes, Value> {
  give(io: CommandIo, ...given: GivenIn<T>): Promise<Value>;
  /** What people see of the value. Without it, only `--json` prints anything. */
  readonly show?: (value: Value) => string;
}

/** All rows, or a page of them. */
type Rows<Row> = readonly Row[] | { readonly items: readonly Row[]; readonly cursor?: unknown };

/** Gives rows. People see them in a table. */
interface Listing<T extends Takes, Row> {
  list(io: CommandIo, ...given: GivenIn<T>): Promise<Rows<Row>>;
  readonly columns: readonly Column<Row>[];
}

/** Gives rows, perhaps one after the other. People see each on its own. */
interface Following<T extends Takes, Row> {
  each(io: CommandIo, ...given: GivenIn<T>): AsyncIterable<Row> | Promise<readonly Row[]>;
  readonly line: (row: Row) => string;
}

/** The work of a verb: it prints by itself, or it gives what is printed. */
type Working<T extends Takes, Value, Row> =
  | Pick<TypedVerb<CommandIo, T>, 'run'>
  | Giving<T, Value>
  | Listing<T, Row>
  | Following<T, Row>;

export function quipuVerb<const T extends Takes = [], Value = unknown, Row = unknown>(
  verb: VerbWords<CommandIo, T> & Working<T, Value, Row>,
): QuipuVerb {
  if ('run' in verb) return verb as unknown as QuipuVerb;
  const run = async (io: CommandIo, ...given: GivenIn<T>): Promise<void> => {
    if ('each' in verb) {
      for await (const row of await verb.each(io, ...given)) await io.print(row, verb.line);
    } else if ('list' in verb) {
      const found = await verb.list(io, ...given);
      const { items, cursor } = 'items' in found ? found : { items: found, cursor: undefined };
      await io.printRows(items, tableOf(verb.columns));
      if (cursor !== undefined) io.noteMore({ cursor });
    } else {
      const value = await verb.give(io, ...given);
      if (verb.show !== undefined) await io.print(value, verb.show);
      else if (io.json && value !== undefined) await io.printJson(value);
    }
  };
  return { ...verb, run } as unknown as QuipuVerb;
}

/** What a verb prints that gives a thing with an id, an event of a chat or patch, or a thing with a hash. */
export const toId = ({ id }: { readonly id: unknown }): string => `${String(id)}\n`;
export const toSeq = ({ seq }: { readonly seq: number }): string => `${seq}\n`;
export const toHash = ({ hash }: { readonly hash: string }): string => `${hash}\n`;

/** The first items, up to a number. */
export async function* upTo<T>(
  count: number | undefined,
  items: AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  let left = count ?? Infinity;
  if (left === 0) return;
  for await (const item of items) {
    yield item;
    left -= 1;
    if (left === 0) return;
  }
}

/** The options that every verb and the program itself take. Each command needs its own copies. */
export function commonOptions(): readonly Option[] {
  return [
    option(
      '--store <place>',
      'a folder or the address of a server (default: $QUIPU_STORE, ./.quipu, ~/.quipu)',
    ),
    option('--token <token>', 'token for a server (default: $QUIPU_TOKEN)'),
    option('--json', 'print JSON, one value a line'),
    option(
      '--wait <seconds>',
      `how long to wait for a process that does not answer (default: ${WAIT_SECONDS})`,
      parseSeconds,
    ),
  ];
}

export function toCommandIo(shell: QuipuShell, options: CommonOptions): CommandIo {
  const { env, cwd, home } = shell;
  const places = { given: options.store, env, cwd, home, exists: existsSync };
  const place = locateStore(places);
  const json = options.json ?? false;
  const printJson = (value: unknown): Promise<void> => shell.out(`${JSON.stringify(value)}\n`);
  const note: CommandIo['note'] = (value, text) =>
    shell.err(`${json ? JSON.stringify(value) : text}\n`);
  const token = options.token ?? (env['QUIPU_TOKEN'] || undefined);
  const waitMs = Math.round((options.wait ?? WAIT_SECONDS) * 1000);
  // A folder takes no token, and a server decides for itself whether to create anything.
  const ofServer = token === undefined ? {} : { token };
  const opened: Promise<Store>[] = [];
  const openAt = (at: string, create: boolean): Promise<Store> => {
    const options: Record<Place['kind'], OpenOptions> = {
      folder: { create, waitMs },
      server: ofServer,
      database: { create },
      unknown: {},
    };
    const store = shell.openStore(at, options[parsePlace(at).kind]);
    opened.push(store);
    return store;
  };
  return {
    shell,
    json,
    place,
    named: options.store,
    newPlace: locateStore(places, true),
    token,
    openStore: (at = place) => openAt(at, false),
    createStore: (at = place) => openAt(at, true),
    printJson,
    print: (value, show) => (json ? printJson(value) : shell.out(show(value))),
    async printRows(rows, show) {
      if (json) for (const row of rows) await printJson(row);
      // Bytes, because colours are codes. What is stored was cleaned when it became a cell of a table.
      else if (rows.length > 0) await shell.out(Buffer.from(show(rows, toScreen(shell))));
    },
    note,
    noteMore(next) {
      const flags = Object.entries(next).map(([name, value]) => `--${name} ${String(value)}`);
      note(next, `more: ${flags.join(' ')}`);
    },
    async [Symbol.asyncDispose]() {
      for (const store of opened) {
        await store.then(
          (it) => it[Symbol.asyncDispose](),
          () => undefined,
        );
      }
    },
  };
}

export interface StorePlaces {
  /** The option `--store`. */
  readonly given: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
  readonly exists: (path: string) => boolean;
}

/** Finds the store of a command: the option, `QUIPU_STORE`, `./.quipu`, or `~/.quipu`, which is no place for a new one. */
export function locateStore(places: StorePlaces, isNew = false): string {
  const { given, env, cwd, home, exists } = places;
  const named = given ?? (env['QUIPU_STORE'] || undefined);
  if (named === '') throw invalid('--store', 'is empty; name a folder or the address of a server');
  const place = toAbsolute(cwd, named ?? '.quipu');
  if (named === undefined) {
    const atHome = join(home, '.quipu');
    return isNew || exists(place) || !exists(atHome) ? place : atHome;
  }
  if (HOST_AND_PORT.test(named) && !exists(place)) {
    const ways = `write http://${named} for a server, or ./${named} for a folder`;
    throw invalid('store', `looks like an address without its scheme; ${ways}`);
  }
  return place;
}

/** People leave the scheme away. A new folder with a colon and a port in its name is hardly what they mean. */
const HOST_AND_PORT = /^[a-z0-9][a-z0-9.-]*:[0-9]{2,5}$/i;

/** A relative path from `cwd`; an absolute path, a URL or an address as it is. */
export function toAbsolute(cwd: string, place: string): string {
  const parsed = parsePlace(place);
  const isPath = parsed.kind === 'folder' && parsed.path === place;
  return isPath && !isAbsolute(place) ? resolve(cwd, place) : place;
}

/** Returns true for every place but a folder. */
export function isAddress(text: string): boolean {
  return parsePlace(text).kind !== 'folder';
}

const REDRAW_MS = 100;
const BAR_CHARS = 24;

/**
 * Runs long work with a bar on standard error that redraws itself in place, and that is wiped before anything else is
 * printed. There is no bar when nobody watches.
 */
export async function withProgress<T>(
  shell: QuipuShell,
  work: (report: Progress) => Promise<T>,
): Promise<T> {
  let drawnAt = -Infinity;
  const report: Progress = (done, total, what) => {
    const now = shell.now();
    if (!shell.isTerminal || now - drawnAt < REDRAW_MS) return;
    drawnAt = now;
    shell.status(toProgressText(done, total, what));
  };
  try {
    return await work(report);
  } finally {
    if (drawnAt > -Infinity) shell.status('');
  }
}

function toProgressText(done: number, total: number, what: string): string {
  const name = toPlainLine(what, 32);
  if (total <= 0) return `${name} ${done}`;
  const part = Math.min(1, done / total);
  const filled = Math.round(part * BAR_CHARS);
  return `${'#'.repeat(filled)}${'.'.repeat(BAR_CHARS - filled)} ${Math.floor(part * 100)}% ${name}`;
}
