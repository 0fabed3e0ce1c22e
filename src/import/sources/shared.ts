import { isFields } from '../../base/fields.ts';
import { given } from '../../base/given.ts';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { invalid } from '../../base/errors.ts';
import { countAt, textAt } from '../source/fields.ts';
import type {
  SessionDetails,
  SourceFile,
  SourceRecord,
  Taken,
  TakenTurn,
  TurnHead,
  Usage,
} from '../source/source.ts';
import { statPlace, walkFolder, type FoundFile } from '../source/walk-folder.ts';

// Steps that several sources share.

const TITLE_CHARS = 80;

/** The names of the fields with tokens; a field in another one stands behind a dot. Counts of several are added up. */
interface UsageNames {
  readonly input: string;
  /** The input includes what was read from a cache. */
  readonly withCache?: true;
  readonly output: readonly string[];
  readonly cacheRead: string;
  readonly cacheWrite?: string;
}

/** As the interfaces of models count them. */
const OF_INTERFACES: UsageNames = {
  input: 'input_tokens',
  output: ['output_tokens'],
  cacheRead: 'cache_read_input_tokens',
  cacheWrite: 'cache_creation_input_tokens',
};

export function readUsage(usage: unknown, names: UsageNames = OF_INTERFACES): Usage | undefined {
  if (!isFields(usage)) return undefined;
  const count = (name: string): number => countAt(usage, ...name.split('.'));
  const [input, cacheRead] = [count(names.input), count(names.cacheRead)];
  return {
    input: names.withCache === true ? Math.max(0, input - cacheRead) : input,
    output: names.output.reduce((sum, name) => sum + count(name), 0),
    cacheRead,
    cacheWrite: names.cacheWrite === undefined ? 0 : count(names.cacheWrite),
  };
}

/** Fields that may have no value: such a field is left out. */
export type Loose<T> = { readonly [Name in keyof T]?: T[Name] | undefined };

/** A turn of one record, by the record's own id if `more` has no other. */
export function turnOf(
  { value, raw }: Pick<SourceRecord, 'value' | 'raw'>,
  what: TakenTurn['what'],
  head: Loose<TurnHead>,
  more: Partial<Omit<TakenTurn, 'head'>> = {},
): TakenTurn {
  const parts = [{ id: textAt(value, 'id'), raw, value }];
  return { do: 'turn', what, parts, ...more, head: given(head) };
}

/** What is known of a session, if anything is. Without `session` it is that of the file. */
export function detailsOf(details: Loose<SessionDetails>, session?: string): Taken[] {
  const known = given(details);
  return Object.keys(known).length === 0
    ? []
    : [{ do: 'details', ...given({ session }), details: known }];
}

/** A title, if there is a text for it. */
export function asTitle(
  text: string | undefined,
  from: 'user' | 'generated' | 'summary' = 'generated',
): SessionDetails['title'] {
  return text === undefined ? undefined : { text, from };
}

type Flag = NonNullable<TurnHead['flags']>[number];

/** The flags that hold; undefined if none does. */
export function flagsOf(flags: Partial<Record<Flag, boolean>>): readonly Flag[] | undefined {
  const names = Object.keys(flags) as Flag[];
  const held = names.filter((flag) => flags[flag]);
  return held.length > 0 ? held : undefined;
}

/** The first thing that a person said is the title of a session without another one. */
export function titleOf(text: string): Taken[] {
  const cut = Array.from(text.trim().slice(0, 4 * TITLE_CHARS))
    .slice(0, TITLE_CHARS)
    .join('');
  return cut === '' ? [] : [{ do: 'details', details: { title: { text: cut, from: 'text' } } }];
}

/** The way in which a source finds its files. */
interface FilesOfSource {
  /** True for the files of a folder that hold sessions, by their names below it. */
  readonly wants: (name: string) => boolean;
  /** Default: by name in each folder. */
  readonly order?: (a: FoundFile, b: FoundFile) => number;
  /** Undefined: another one of the `paths` has the same records. `root` is the real path of the place. */
  readonly about: (
    file: FoundFile,
    paths: ReadonlySet<string>,
    root: string,
  ) => AboutFile | undefined | Promise<AboutFile | undefined>;
}

/** The facts that a source knows of a file. */
export type AboutFile = Omit<SourceFile, 'path' | 'size' | 'modifiedMs'>;

/** The file that a person named, whatever its name, or the files of a folder that hold sessions. */
export async function* filesAt(
  place: string,
  { wants, order, about }: FilesOfSource,
): AsyncGenerator<SourceFile> {
  const found = await statPlace(place);
  if (found === undefined) return;
  const files: FoundFile[] = [];
  if (!found.isFolder) {
    if (await isZip(found.path)) throw invalid('place', 'is a zip archive; unpack it first');
    files.push({ ...found, name: basename(found.path) });
  } else for await (const file of walkFolder(found.path, wants)) files.push(file);
  if (order !== undefined) files.sort(order);
  const paths = new Set(files.map(({ path }) => path));
  for (const file of files) {
    const { path, size, modifiedMs } = file;
    const told = await about(file, paths, found.path);
    if (told !== undefined) yield { path, size, modifiedMs, ...told };
  }
}

const ZIP = Buffer.from('PK\u0003\u0004');

/** People get an export as an archive, and name that. A file that cannot be read is told of when it is imported. */
async function isZip(path: string): Promise<boolean> {
  const file = await open(path, 'r').catch(() => undefined);
  try {
    const { buffer, bytesRead } = (await file?.read(Buffer.alloc(4), 0, 4, 0)) ?? {};
    return bytesRead === ZIP.length && buffer?.equals(ZIP) === true;
  } finally {
    await file?.close();
  }
}
