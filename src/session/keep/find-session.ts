import { resolve, basename, dirname, sep } from 'node:path';
import { QuipuError, invalid, notFound } from '../../base/errors.ts';
import type { Io } from '../../engine/io.ts';
import { settleMove, hiddenOf } from '../carry/move-session.ts';
import { scanReferences } from '../entries/pictures.ts';
import { parseSessionName, artifactsFolderOf } from '../files/session-names.ts';
import { idIn, noSession, readHeaderOf, withFile } from '../log/session-file.ts';
import type { SessionsHome, SessionRecord } from '../records/registry.ts';
import { SessionRefs } from '../records/session-refs.ts';

/**
 * Finds a session, given its id or the path of its file. A move that was cut short is settled first. A file that the
 * store did not know is known from now on, with its references.
 */
export async function findSession(home: SessionsHome, session: string): Promise<SessionRecord> {
  if (typeof session !== 'string' || session === '') {
    throw invalid('session', 'must be the id of a session or the path of its file');
  }
  if (home.confined === true && isPath(session))
    throw invalid('session', 'must be the id of a session');
  return isPath(session) ? findByPath(home, resolve(session)) : findById(home, session);
}

function isPath(session: string): boolean {
  return /[/\\]/.test(session) || session.endsWith('.jsonl');
}

async function findById(home: SessionsHome, id: string): Promise<SessionRecord> {
  const record = await home.registry.get(id);
  if (record === undefined) {
    throw notFound('session', id, `there is no session ${id}`);
  }
  return settleMove(home, await assertOwn(home, record));
}

async function findByPath(home: SessionsHome, file: string): Promise<SessionRecord> {
  const { io, registry } = home;
  if ((await io.stat(file)) === undefined) {
    const known = await registry.get(parseSessionName(file)?.id ?? '');
    if (known === undefined) throw noSession(file);
    return settleMove(home, await assertOwn(home, known));
  }
  const header = await readHeaderOf(io, file);
  const known = await registry.get(header.id);
  if (known === undefined) return register(home, header.id, file);
  // A record that names a file of another session says nothing about this file.
  if ((await standingOf(home, known)) === 'foreign') return register(home, header.id, file);
  const settled = await settleMove(home, known);
  if (settled.file === file || known.movingTo === file || known.file === file) return settled;
  // The known file is gone: somebody moved the session here.
  if ((await io.stat(settled.file)) === undefined) return register(home, header.id, file);
  // This is a copy made by hand. The copy is opened as it is, and its blobs stay when the original goes.
  await registry.noteCopy({ id: header.id, file });
  return { id: header.id, file };
}

async function register(home: SessionsHome, id: string, file: string): Promise<SessionRecord> {
  const refs = await withFile(home.io, file, (opened) => scanReferences(opened));
  await new SessionRefs(home.engine, id).adopt(refs);
  await home.registry.put({ id, file });
  return { id, file };
}

// A document holds the place of a session, and a document may come from anywhere: from another version, from a copy of
// another store, from a client with a token. So every path in a document is checked here before it is used.

/** `unproved`: nothing there tells whose file it is, so nothing there may be removed or shown. */
type Standing = 'own' | 'unproved' | 'foreign';

/** The message about a file that is passed over. */
export const NOT_ITS_OWN =
  'nothing there says that it is this session; forget the record with quipu session gc --forget-missing';

type OwnHome = Pick<SessionsHome, 'io' | 'root' | 'confined'>;

/**
 * A file in the store's folder of sessions is its own. A file elsewhere must prove that it is this session, by its
 * header or, if no header can be read, by its name. On a server no file elsewhere counts.
 */
export async function standingOf(home: OwnHome, record: SessionRecord): Promise<Standing> {
  const { id, file, movingTo } = record;
  if (movingTo === undefined) return standingAt(home, id, file);
  // A move keeps the file's name, and so the name of the artifacts that go with it.
  if (basename(movingTo) !== basename(file)) return 'foreign';
  const places = [file, movingTo, hiddenOf(file)];
  let standing: Standing = 'unproved';
  for (const path of places) {
    const found = await standingAt(home, id, path);
    // A move writes its files whole, header first: a file without a header is not from this move.
    const isOther = found === 'unproved' && (await home.io.stat(path)) !== undefined;
    if (found === 'foreign' || isOther) return 'foreign';
    if (found === 'own') standing = 'own';
  }
  return standing;
}

/** Throws FORBIDDEN for a record that names a file of another session. */
export async function assertOwn(home: OwnHome, record: SessionRecord): Promise<SessionRecord> {
  if ((await standingOf(home, record)) !== 'foreign') return record;
  const where =
    home.confined === true
      ? 'not in the folder of sessions of this store; use it where its file is'
      : 'not this session; open the file by its path, or forget the record with sessions.tidy';
  const message = `what the store notes as the file of session ${record.id}, ${record.file}, is ${where}`;
  throw new QuipuError('FORBIDDEN', message, { scope: 'owner' });
}

async function standingAt(
  { io, root, confined }: OwnHome,
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
