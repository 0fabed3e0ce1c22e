import { isAbsolute, join, resolve } from 'node:path';
import { parsePlace } from '../base/place.ts';

export interface StorePlaces {
  /** The option `--store`. */
  readonly given: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
  exists(path: string): boolean;
}

/** Finds the store of a command: the option, `QUIPU_STORE`, `./.quipu`, `~/.quipu`; else a new `./.quipu`. */
export function locateStore(places: StorePlaces): string {
  const here = locateNewStore(places);
  if (isNamed(places) || places.exists(here)) return here;
  const atHome = join(places.home, '.quipu');
  return places.exists(atHome) ? atHome : here;
}

/** Finds the place of a new store: the option, `QUIPU_STORE`, or `./.quipu`. */
export function locateNewStore({ given, env, cwd }: StorePlaces): string {
  return toAbsolute(cwd, given ?? (env['QUIPU_STORE'] || '.quipu'));
}

/** A relative path from `cwd`; an absolute path, a URL or an address as it is. */
export function toAbsolute(cwd: string, place: string): string {
  const parsed = parsePlace(place);
  const isPath = parsed.kind === 'folder' && parsed.path === place;
  return isPath && !isAbsolute(place) ? resolve(cwd, place) : place;
}

function isNamed({ given, env }: StorePlaces): boolean {
  return given !== undefined || Boolean(env['QUIPU_STORE']);
}

/** Returns true for every place but a folder. */
export function isAddress(text: string): boolean {
  return parsePlace(text).kind !== 'folder';
}
