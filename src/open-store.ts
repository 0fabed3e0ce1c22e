import { shown } from './base/text.ts';
import { type QuipuError, invalid, unsupported } from './base/errors.ts';
import { given } from './base/given.ts';
import { parsePlace } from './base/place.ts';
import { TIMEOUT_MS_DEFAULT } from './client/transport.ts';
import type { ConnectOptions } from './connect-store.ts';
import { openFilesEngine } from './engine/files/open-files-engine.ts';
import { openHosted } from './host/host.ts';
import type { SearchSettings } from './search/contract/search.ts';
import { createStore } from './store/create-store.ts';
import { keptStore, partsIn, openDatabaseParts } from './store/kept-store.ts';
import type { Store } from './store/store.ts';

/**
 * The options of `ConnectOptions` apply to the address of a server, the others to a directory. A database takes
 * `create`, `clock`, `cacheBytes`, `connections`, `search` and `maxPayloadBytes`.
 */
export interface OpenOptions extends ConnectOptions {
  /** `'unsafe'` answers before the disk has the bytes: a power cut can lose the last commits. */
  readonly durability?: 'safe' | 'unsafe';
  /** Create the store when there is none. Default true. */
  readonly create?: boolean;
  /** The limit on the memory for caches. */
  readonly cacheBytes?: number;
  /** Milliseconds since 1970, for `createdAt` and `updatedAt`. Default `Date.now`. */
  readonly clock?: () => number;
  /** False: keep the directory to this process, so that other processes get LOCKED. Default true. */
  readonly share?: boolean;
  /**
   * The time to wait for a process that has the directory and does not answer for it. Default 30 seconds, and no time
   * at all for a process that does not share it.
   */
  readonly waitMs?: number;
  /** For a database: the number of connections that this process may have at once. Default 10. */
  readonly connections?: number;
  /**
   * False: no search, and no index to keep up. Or how to find the texts of payloads. Default: the first search makes an
   * index, which is kept up from then on.
   */
  readonly search?: SearchSettings | boolean;
}

interface Option {
  /** Throws for a value that the option cannot have. */
  readonly check?: (name: string, value: unknown) => void;
  /** The places that decide this by themselves, or have no use for it. */
  readonly not?: readonly ('server' | 'database')[];
}

const OPTIONS: Readonly<Record<keyof OpenOptions, Option>> = {
  durability: { check: checkDurability, not: ['server', 'database'] },
  create: { check: checkFlag, not: ['server'] },
  cacheBytes: { check: atLeast(1 << 20), not: ['server'] },
  clock: { check: checkClock, not: ['server'] },
  share: { check: checkFlag, not: ['server', 'database'] },
  waitMs: { check: atLeast(0), not: ['server', 'database'] },
  connections: { check: atLeast(2), not: ['server'] },
  search: { not: ['server'] },
  maxPayloadBytes: { check: atLeast(1) },
  token: { check: checkText, not: ['database'] },
  timeoutMs: { check: atLeast(1), not: ['database'] },
  ca: { check: checkText, not: ['database'] },
};

/** Common wrong names of options, and the right ones. */
const MISSPELLED: ReadonlyMap<string, string> = new Map([
  ['fsync', 'durability: "unsafe"'],
  ['sync', 'durability: "unsafe"'],
  ['synchronous', 'durability: "unsafe"'],
  ['createifmissing', 'create: true'],
  ['cachesize', 'cacheBytes'],
  ['now', 'clock'],
  ['exclusive', 'share: false'],
  ['wait', 'waitMs'],
  ['maxpayload', 'maxPayloadBytes'],
  ['maxpayloadsize', 'maxPayloadBytes'],
  ['timeout', 'timeoutMs'],
  ['apikey', 'token'],
]);

/**
 * Opens a directory as a store, and creates it first if need be, in any number of processes: the first one owns it and
 * answers for the others. Or connects to the store of a server, at `quipu://host:port`, `quipus://` (TLS),
 * `unix:<socket>` or `http(s)://`. Or opens a database that any number of processes share, at `postgres://…`. Close the
 * store when done.
 */
export async function openStore(url: string, options: OpenOptions = {}): Promise<Store> {
  // Catch known misuse.
  if (typeof url !== 'string') throw new TypeError(`openStore takes a path, got ${typeof url}`);
  if (url === '') throw invalid('url', 'is empty; name a directory, such as "./.quipu"');
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    if (!Object.hasOwn(OPTIONS, name)) throw new TypeError(unknownOption(name));
    if (value !== undefined) OPTIONS[name as keyof OpenOptions].check?.(name, value);
  }

  // Choose the process that answers.
  const place = parsePlace(url);
  if (place.kind === 'database') {
    refuse(options, 'database', 'has no meaning for a database; leave it out');
    return openDatabase(url, options);
  }
  if (place.kind === 'server') {
    const why = 'is an option of the process that keeps the data; leave it out for a server';
    refuse(options, 'server', why);
    const { connectStore } = await import('./connect-store.ts');
    return connectStore(url, options);
  }
  if (place.kind === 'unknown') throw unknownScheme(place.scheme);
  return openDirectory(place.path, options);
}

/** Opens a PostgreSQL database as a store. */
export async function openDatabase(url: string, options: OpenOptions): Promise<Store> {
  const { create, clock, connections, cacheBytes, maxPayloadBytes } = options;
  const ofEngine = given({ create, clock, connections, cacheBytes });
  const { engine, ...parts } = await openDatabaseParts(url, ofEngine);
  const ofStore = given({ maxPayloadBytes, clock });
  return keptStore(engine, { ...parts, settings: options.search, ...ofStore }).store;
}

async function openDirectory(directory: string, options: OpenOptions): Promise<Store> {
  const { durability = 'safe', create = true, cacheBytes, clock, maxPayloadBytes } = options;
  const { share = true, waitMs } = options;
  const ofEngine = { durability, create, ...given({ cacheBytes, clock }) };
  const ofStore = given({ maxPayloadBytes, clock });
  const { place, ...parts } = partsIn(directory);
  if (!share) {
    const engine = await openFilesEngine(directory, ofEngine);
    return keptStore(engine, { ...parts, place, settings: options.search, ...ofStore }).store;
  }
  const { engine, search, elsewhere } = await openHosted(directory, {
    ...ofEngine,
    search: options.search,
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS_DEFAULT,
    ...given({ waitMs }),
  });
  return createStore(engine, { ...parts, search, ...given({ elsewhere }), ...ofStore });
}

function unknownScheme(scheme: string): QuipuError<'UNSUPPORTED'> {
  return unsupported(
    'store address',
    `${scheme}://`,
    `${scheme}:// is not an address of a store; give a path such as "./.quipu", quipu://host:port or postgres://host/database`,
  );
}

function unknownOption(name: string): string {
  const wanted = name.toLowerCase().replaceAll(/[^a-z]/g, '');
  const known = Object.keys(OPTIONS);
  const right = known.find((option) => option.toLowerCase() === wanted) ?? MISSPELLED.get(wanted);
  const advice = right === undefined ? `known options are ${known.join(', ')}` : `write ${right}`;
  return `unknown option "${name}"; ${advice}`;
}

function refuse(options: OpenOptions, place: 'server' | 'database', why: string): void {
  for (const [name, value] of Object.entries(options)) {
    const { not = [] } = OPTIONS[name as keyof OpenOptions];
    if (value !== undefined && not.includes(place)) throw new TypeError(`"${name}" ${why}`);
  }
}

function checkDurability(name: string, value: unknown): void {
  if (value === 'safe' || value === 'unsafe') return;
  throw new TypeError(`"${name}" must be "safe" or "unsafe", got ${shown(value)}`);
}

function checkFlag(name: string, value: unknown): void {
  if (typeof value === 'boolean') return;
  throw new TypeError(`"${name}" must be true or false, got ${shown(value)}`);
}

function checkClock(name: string, value: unknown): void {
  if (typeof value === 'function') return;
  throw new TypeError(
    `"${name}" must be a function that returns milliseconds, got ${typeof value}`,
  );
}

function checkText(name: string, value: unknown): void {
  if (typeof value !== 'string' || value === '') throw new TypeError(`"${name}" must be a text`);
}

function atLeast(min: number): (name: string, value: unknown) => void {
  return (name, value) => {
    if (Number.isSafeInteger(value) && Number(value) >= min) return;
    const message = `"${name}" must be a whole number of at least ${min}, got ${shown(value)}`;
    throw new RangeError(message);
  };
}
