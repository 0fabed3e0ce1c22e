import { basename, dirname, resolve, sep } from 'node:path';
import { QuipuError, isQuipuError } from '../../base/errors.ts';
import type { Io } from '../../engine/io.ts';
import { hiddenOf } from '../carry/move-session.ts';
import { readHeader, withFile } from '../log/open-session-file.ts';
import { artifactsFolderOf, parseSessionName } from '../log/session-names.ts';
import type { SessionsWorld } from '../sessions-world.ts';
import type { SessionRecord } from './registry.ts';

// A document holds the place of a session, and a document may come from anywhere: from another version, from a copy of
// another store, from a client with a token. So every path in a document is checked here before it is used.

/** `unproved`: nothing there tells whose file it is, so nothing there may be removed or shown. */
export type Standing = 'own' | 'unproved' | 'foreign';

/** The message about a file that is passed over. */
export const NOT_ITS_OWN =
  'nothing there says that it is this session; forget the record with quipu session gc --forget-missing';

type OwnWorld = Pick<SessionsWorld, 'io' | 'root' | 'confined'>;

/**
 * A file in the store's folder of sessions is its own. A file elsewhere must prove that it is this session, by its
 * header or, if no header can be read, by its name. On a server no file elsewhere counts.
 */
export async function standingOf(world: OwnWorld, record: SessionRecord): Promise<Standing> {
  const { id, file, movingTo } = record;
  if (movingTo === undefined) return standingAt(world, id, file);
  // A move keeps the file's name, and so the name of the artifacts that go with it.
  if (basename(movingTo) !== basename(file)) return 'foreign';
  const places = [file, movingTo, hiddenOf(file)];
  let standing: Standing = 'unproved';
  for (const path of places) {
    const found = await standingAt(world, id, path);
    // A move writes its files whole, header first: a file without a header is not from this move.
    const isOther = found === 'unproved' && (await world.io.stat(path)) !== undefined;
    if (found === 'foreign' || isOther) return 'foreign';
    if (found === 'own') standing = 'own';
  }
  return standing;
}

/** Throws FORBIDDEN for a record that names a file of another session. */
export async function assertOwn(world: OwnWorld, record: SessionRecord): Promise<SessionRecord> {
  if ((await standingOf(world, record)) !== 'foreign') return record;
  const where =
    world.confined === true
      ? 'not in the folder of sessions of this store; use it where its file is'
      : 'not this session; open the file by its path, or forget the record with sessions.tidy';
  const message = `what the store notes as the file of session ${record.id}, ${record.file}, is ${where}`;
  throw new QuipuError('FORBIDDEN', message, { scope: 'owner' });
}

async function standingAt(
  { io, root, confined }: OwnWorld,
  id: string,
  path: string,
): Promise<Standing> {
  const kind = (await io.stat(path))?.kind;
  const folder = artifactsFolderOf(path);
  const beside = folder === undefined ? undefined : (await io.stat(folder))?.kind;
  // A link leads to a file that nobody checked.
  if (kind === 'other' || beside === 'other') return 'foreign';
  if (root !== undefined && (await isInside(io, root, path))) return 'own';
  if (confined === true) return 'foreign';
  const said = kind === 'file' ? await idIn(io, path) : undefined;
  if (said !== undefined) return said === id ? 'own' : 'foreign';
  return parseSessionName(path)?.id === id ? 'own' : 'unproved';
}

async function isInside(io: Io, root: string, path: string): Promise<boolean> {
  const real = (place: string): Promise<string> =>
    io.realpath?.(place) ?? Promise.resolve(resolve(place));
  const [top, folder] = [await real(root), await real(dirname(path))];
  return folder === top || folder.startsWith(top + sep);
}

/** Returns undefined when no header can be read. */
async function idIn(io: Io, path: string): Promise<string | undefined> {
  try {
    return (await withFile(io, path, 'read', (file) => readHeader(file, path))).header.id;
  } catch (error) {
    if (isQuipuError(error)) return undefined;
    throw error;
  }
}
