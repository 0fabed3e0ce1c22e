import { fileURLToPath } from 'node:url';
import { QuipuError, invalid } from './base/errors.ts';
import { openFilesEngine } from './engine/files/open-files-engine.ts';
import type { FilesEngineOptions } from './engine/files/open-files-engine.ts';
import { createStore } from './store/create-store.ts';
import type { Store } from './store/store.ts';

export interface OpenOptions {
  /** `'unsafe'` answers before the disk has the bytes: a power cut can lose the last commits. */
  readonly durability?: 'safe' | 'unsafe';
  /** Make the store when there is none. Default true. */
  readonly create?: boolean;
  /** Bound on the memory for caches. */
  readonly cacheBytes?: number;
  /** Milliseconds since 1970, for `createdAt` and `updatedAt`. Default `Date.now`. */
  readonly clock?: () => number;
  /** The largest payload a turn may carry. */
  readonly maxPayloadBytes?: number;
}

const OPTIONS: Record<keyof OpenOptions, true> = {
  durability: true,
  create: true,
  cacheBytes: true,
  clock: true,
  maxPayloadBytes: true,
};

/** What people write first, and what they should have written. */
const MISSPELLED: ReadonlyMap<string, string> = new Map([
  ['fsync', 'durability: "unsafe"'],
  ['sync', 'durability: "unsafe"'],
  ['synchronous', 'durability: "unsafe"'],
  ['createifmissing', 'create: true'],
  ['cachesize', 'cacheBytes'],
  ['now', 'clock'],
  ['maxpayload', 'maxPayloadBytes'],
  ['maxpayloadsize', 'maxPayloadBytes'],
]);

const CACHE_BYTES_MIN = 1 << 20;

/** Opens a directory as a store, and makes it first if need be. Close the store when done. */
export async function openStore(url: string, options: OpenOptions = {}): Promise<Store> {
  // Catch known misuse.
  if (typeof url !== 'string') throw new TypeError(`openStore takes a path, got ${typeof url}`);
  if (url === '') throw invalid('url', 'is empty; name a directory, such as "./.quipu"');
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(OPTIONS, name)) throw new TypeError(unknownOption(name));
  }

  // Validate.
  const { durability = 'safe', create = true, cacheBytes, clock, maxPayloadBytes } = options;
  if (durability !== 'safe' && durability !== 'unsafe') {
    throw new TypeError(`"durability" is "safe" or "unsafe", got ${JSON.stringify(durability)}`);
  }
  if (typeof create !== 'boolean') {
    throw new TypeError(`"create" is true or false, got ${JSON.stringify(create)}`);
  }
  if (clock !== undefined && typeof clock !== 'function') {
    throw new TypeError(`"clock" is a function that returns milliseconds, got ${typeof clock}`);
  }
  assertAtLeast('cacheBytes', cacheBytes, CACHE_BYTES_MIN);
  assertAtLeast('maxPayloadBytes', maxPayloadBytes, 1);

  // Choose who answers.
  const engineOptions: FilesEngineOptions = {
    durability,
    create,
    ...(cacheBytes !== undefined && { cacheBytes }),
    ...(clock !== undefined && { clock }),
  };
  const engine = await openFilesEngine(toDirectory(url), engineOptions);

  // Put the kinds of thread over it.
  return createStore(engine, {
    ...(maxPayloadBytes !== undefined && { maxPayloadBytes }),
    ...(clock !== undefined && { clock }),
  });
}

function toDirectory(url: string): string {
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url) ?? [];
  if (scheme === undefined) return url;
  if (scheme.toLowerCase() === 'file') return fileURLToPath(url);
  throw new QuipuError(
    'UNSUPPORTED',
    `this build opens directories only, not ${scheme}:// addresses; give a path such as "./.quipu"`,
    { what: 'store address', found: `${scheme}://` },
  );
}

function unknownOption(name: string): string {
  const wanted = name.toLowerCase().replaceAll(/[^a-z]/g, '');
  const known = Object.keys(OPTIONS);
  const right = known.find((option) => option.toLowerCase() === wanted) ?? MISSPELLED.get(wanted);
  const advice = right === undefined ? `known options are ${known.join(', ')}` : `write ${right}`;
  return `unknown option "${name}"; ${advice}`;
}

function assertAtLeast(name: string, value: number | undefined, min: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= min)) return;
  throw new RangeError(`"${name}" is a whole number of at least ${min}, got ${String(value)}`);
}
