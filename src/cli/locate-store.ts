import { isAbsolute, join, resolve } from 'node:path';

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
  const named = given ?? (env['QUIPU_STORE'] || '.quipu');
  const isUrl = isAddress(named) || /^file:\/\//i.test(named);
  return isUrl || isAbsolute(named) ? named : resolve(cwd, named);
}

function isNamed({ given, env }: StorePlaces): boolean {
  return given !== undefined || Boolean(env['QUIPU_STORE']);
}

/** Returns true for a text that names a server or a database, and not a folder. */
export function isAddress(text: string): boolean {
  return /^(?:(?!file:)[a-z][a-z0-9+.-]*:\/\/|unix:)/i.test(text);
}
