import { lstat, opendir, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { findExcess } from '../../base/bounded-json.ts';

/** A file that was found. */
export interface FoundFile {
  readonly path: string;
  /** Its path below the folder, with `/`. */
  readonly name: string;
  readonly size: number;
  readonly modifiedMs: number;
}

/** Deeper folders are a loop or an attack. */
const DEPTH_MAX = 32;

/**
 * The files below a folder, by name in each folder. Links are not followed, so that nothing outside of the folder is
 * read. A folder that is not there, or that goes away meanwhile, has no files.
 */
export async function* walkFolder(
  folder: string,
  wants: (name: string) => boolean,
): AsyncGenerator<FoundFile> {
  const root = await realpath(folder).catch(() => undefined);
  if (root !== undefined) yield* walk(root, '', wants);
}

async function* walk(
  folder: string,
  below: string,
  wants: (name: string) => boolean,
): AsyncGenerator<FoundFile> {
  const folders: string[] = [];
  for (const { name, isFolder } of await namesIn(folder)) {
    if (isFolder) folders.push(name);
    else if (wants(`${below}${name}`)) {
      const found = await statFile(join(folder, name));
      if (found !== undefined) yield { ...found, name: `${below}${name}` };
    }
  }
  if (below.split('/').length > DEPTH_MAX) return;
  for (const name of folders) yield* walk(join(folder, name), `${below}${name}/`, wants);
}

async function namesIn(folder: string): Promise<{ name: string; isFolder: boolean }[]> {
  const names: { name: string; isFolder: boolean }[] = [];
  try {
    for await (const entry of await opendir(folder, { bufferSize: 1024 })) {
      if (entry.isDirectory()) names.push({ name: entry.name, isFolder: true });
      else if (entry.isFile()) names.push({ name: entry.name, isFolder: false });
    }
  } catch {
    // The folder is gone, or this user may not read it.
  }
  return names.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** A plain file; undefined for a link, and for what is not there. */
export async function statFile(path: string): Promise<Omit<FoundFile, 'name'> | undefined> {
  try {
    const stat = await lstat(path);
    return stat.isFile() ? { path, size: stat.size, modifiedMs: stat.mtimeMs } : undefined;
  } catch {
    return undefined;
  }
}

/** The file or folder that a person named: links are followed, as it is theirs. */
export async function statPlace(
  path: string,
): Promise<{ path: string; isFolder: boolean; size: number; modifiedMs: number } | undefined> {
  try {
    const real = await realpath(path);
    const stat = await lstat(real);
    return {
      path: real,
      isFolder: stat.isDirectory(),
      size: stat.size,
      modifiedMs: stat.mtimeMs,
    };
  } catch {
    return undefined;
  }
}

/** Less than a payload may have, for what is put around a record. */
const BOUNDS = { depth: 900, values: 900_000 };

/** The value of a JSON text, if a turn can hold it. Throws a SyntaxError otherwise. */
export function parseRecord(text: string): unknown {
  const excess = findExcess(text, BOUNDS);
  if (excess !== undefined) throw new SyntaxError(`it has too many ${excess.of}`);
  return JSON.parse(text) as unknown;
}

const SMALL_BYTES_MAX = 4 * 1024 * 1024;

/** The text of a plain file beside a session; undefined if there is none that can be read, or a larger one. */
export async function readSmallText(path: string, maxBytes: number): Promise<string | undefined> {
  const found = await statFile(path);
  if (found === undefined || found.size > maxBytes) return undefined;
  return readFile(path, 'utf8').catch(() => undefined);
}

/** The JSON of a small file beside a session; undefined if there is none. */
export async function readSmallJson(path: string): Promise<unknown> {
  const text = await readSmallText(path, SMALL_BYTES_MAX);
  try {
    return text === undefined ? undefined : parseRecord(text);
  } catch {
    return undefined;
  }
}
