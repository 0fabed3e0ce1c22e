import { basename, dirname, join, resolve } from 'node:path';
import { invalid } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { encodeUtf8 } from '../../base/text.ts';

const SUFFIX = '.jsonl';
const SLUG_CHARS_MAX = 120;

/** Makes `<timestamp>_<id>.jsonl`, with the characters that file systems dislike turned into hyphens. */
export function toSessionName(id: string, timestamp: string): string {
  return `${timestamp.replaceAll(/[:.]/g, '-')}_${id}${SUFFIX}`;
}

export function isSessionName(name: string): boolean {
  return name.endsWith(SUFFIX) && name.length > SUFFIX.length && !name.startsWith('.');
}

/** The folder of a session's artifacts. A file that is not called `….jsonl` has none. */
export function artifactsFolderOf(file: string): string | undefined {
  return isSessionName(basename(file)) ? file.slice(0, -SUFFIX.length) : undefined;
}

/** Reads timestamp and id from a name, for a file whose header is lost. */
export function parseSessionName(file: string): { id: string; timestamp: string } | undefined {
  const [, date, time, id] =
    /^(\d{4}-\d\d-\d\d)T(\d\d-\d\d-\d\d-\d{3}Z)_(.+)\.jsonl$/.exec(basename(file)) ?? [];
  if (date === undefined || time === undefined || id === undefined) return undefined;
  const [hours, minutes, seconds, rest] = time.split('-');
  return { id, timestamp: `${date}T${hours}:${minutes}:${seconds}.${rest}` };
}

/** A process that writes to the session holds this lock. */
export function lockOf(file: string): string {
  return join(dirname(file), '.locks', basename(file));
}

/** The file for bytes that a crash cut short. */
export function tornFileOf(file: string): string {
  return `${file}.torn`;
}

/** Makes a folder's path one name, readable and unique. */
function slugOf(cwd: string): string {
  const slug = resolve(cwd)
    .replaceAll(/^[/\\]+|[/\\]+$/g, '')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-');
  if (slug.length <= SLUG_CHARS_MAX) return `--${slug}--`;
  return `--${slug.slice(-SLUG_CHARS_MAX)}-${sha256Hex(encodeUtf8(cwd)).slice(0, 8)}--`;
}

/** The given folder, or the one for sessions about `cwd` in the store's own folder of sessions. */
export function folderFor(
  root: string | undefined,
  folder: string | undefined,
  cwd: string,
): string {
  if (folder !== undefined) {
    if (typeof folder === 'string' && folder !== '') return resolve(folder);
    throw invalid('folder', 'must be the path of a folder');
  }
  if (root !== undefined) return join(root, slugOf(cwd));
  const problem = 'is needed: the store is on another machine, and session files are kept here';
  throw invalid('folder', problem);
}
