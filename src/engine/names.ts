import { invalid } from '../base/errors.ts';
import type { Engine } from './engine.ts';
import type { DocRow } from './rows.ts';

/** The log that records when blobs were erased, and why. */
export const ERASURES_LOG = 'erased/blobs.jsonl';

const NAME_CHARS_MAX = 512;

/** First segments that are reserved for the store, in lower case, because some file systems ignore case. */
const RESERVED: ReadonlySet<string> = new Set([
  'format',
  'backup.json',
  'blobs',
  'contexts',
  'docs',
  'extents',
  'index.db',
  'journal',
  'last-backup.json',
  'lock.db',
  'owner.json',
  'quarantine',
  'queues',
  'quipu.sock',
  'sessions',
  'tokens.json',
  'turns',
]);

/** The suffixes of files that SQLite, or code that replaces a file, puts beside a file. */
const BESIDE = /(?:-(?:wal|shm|journal)|\.new)$/;

/**
 * The folders of logs and published documents, which are also plain files of their names. No name leads to anything
 * else in the folder of a store, now or later. `logs` and `out` are for kinds of thread defined elsewhere.
 */
const FILE_FOLDERS: ReadonlySet<string> = new Set([
  'chats',
  'chats-cache',
  'erased',
  'logs',
  'out',
  'workflows',
]);

/**
 * The one check of the names of logs and documents: segments of letters, digits, `.`, `_` and `-`,
 * joined by `/`. Such a name is a safe relative path, and sorts alike by bytes and by characters.
 */
export function assertName(name: string, what = 'name'): void {
  const problem = problemOf(name);
  if (problem !== undefined) throw invalid(what, problem);
}

/** False for a text that cannot be a name: asking the disk for it could lead out of the store. */
export function isName(name: string): boolean {
  return problemOf(name) === undefined;
}

function problemOf(name: string): string | undefined {
  if (name.length === 0 || name.length > NAME_CHARS_MAX) {
    return `must have 1 to ${NAME_CHARS_MAX} characters, got ${name.length}`;
  }
  const segments = name.split('/');
  for (const segment of segments) {
    if (segment === '.' || segment === '..' || !/^[A-Za-z0-9._-]+$/.test(segment)) {
      return `must be made of letters, digits, ".", "_" and "-" in segments joined by "/", got ${JSON.stringify(name)}`;
    }
  }
  const [first = ''] = segments;
  if (!RESERVED.has(first.toLowerCase().replace(BESIDE, ''))) return undefined;
  return `starts with ${JSON.stringify(first)}, which the store keeps for itself`;
}

/** True for a name that may also be a plain file. */
export function isFileName(name: string): boolean {
  const slash = name.indexOf('/');
  return slash > 0 && FILE_FOLDERS.has(name.slice(0, slash)) && isName(name);
}

/** Checks a name that `assertName` accepts and that shall also be a plain file. */
export function assertFileName(name: string, what = 'name'): void {
  if (isFileName(name)) return;
  const folders = [...FILE_FOLDERS].map((folder) => `${folder}/`).join(', ');
  throw invalid(
    what,
    `of a log or a published document must start with one of ${folders}, got ${JSON.stringify(name)}`,
  );
}

/** One call asks for this many names: few calls, and little memory however many names there are. */
const NAMES = 1000;

type ListNames = (limit: number, after?: string) => Promise<readonly string[]>;

/** Yields every name of a listing, in its order. Names may come and go meanwhile. */
export async function* eachName(list: ListNames): AsyncGenerator<string, void, undefined> {
  for await (const names of namePages(list, NAMES)) yield* names;
}

/** Like `eachName`, with up to `limit` names at a time. */
export async function* namePages(
  list: ListNames,
  limit: number,
): AsyncGenerator<readonly string[], void, undefined> {
  for (let after: string | undefined; ;) {
    const names = await list(limit, after);
    if (names.length > 0) yield names;
    if (names.length < limit) return;
    after = names.at(-1);
  }
}

/** Yields every document whose name begins with `prefix`. One that is removed meanwhile may be left out. */
export async function* eachDoc(
  engine: Pick<Engine, 'getDoc' | 'listDocs'>,
  prefix: string,
): AsyncGenerator<DocRow, void, undefined> {
  for await (const name of eachName((limit, after) => engine.listDocs(prefix, limit, after))) {
    const row = await engine.getDoc(name);
    if (row !== undefined) yield row;
  }
}
