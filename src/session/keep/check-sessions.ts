import { join } from 'node:path';
import { isQuipuError } from '../../base/errors.ts';
import type { Io } from '../../engine/io.ts';
import type { Problem } from '../../engine/upkeep.ts';
import { SUMS_FOLDER, coveredBy, findChanged, readSums, sumsOf } from '../files/file-sums.ts';
import { artifactsFolderOf, isSessionName } from '../files/session-names.ts';
import { readHeader, withFile } from '../log/session-file.ts';
import { currentFile, type SessionRecord, type SessionsHome } from '../records/registry.ts';
import { NOT_ITS_OWN, standingOf } from './find-session.ts';

const GONE =
  'the file is gone; restore it from a backup, or forget it: quipu session gc --forget-missing';

type SessionsHere = Pick<SessionsHome, 'io' | 'registry' | 'root'> & { readonly host: string };

/** Compares every file of every session that is kept on this machine with its checksums. Changes nothing. */
export async function* checkSessions(here: SessionsHere): AsyncGenerator<Problem> {
  const { io, registry } = here;
  const seen = new Set<string>();
  for await (const record of registry.all()) {
    if (record.host !== undefined && record.host !== here.host) continue;
    const file = await currentFile(io, record);
    const isOwn = (await standingOf(here, record)) === 'own';
    if (isOwn) yield* checkSession(io, { ...record, file }, seen);
    // A file that may be somebody else's is not read.
    else {
      const isGone = (await io.stat(file)) === undefined;
      yield toLost(record.id, { file, offset: 0, what: isGone ? GONE : NOT_ITS_OWN });
    }
  }
  for await (const record of registry.copies()) {
    // Nobody asked the store to keep a copy, so a copy that is gone is no loss.
    if ((await io.stat(record.file)) === undefined) continue;
    if ((await standingOf(here, record)) === 'own') yield* checkSession(io, record, seen);
    else yield toLost(record.id, { file: record.file, offset: 0, what: NOT_ITS_OWN });
  }
}

function toLost(id: string, problem: Pick<Problem, 'file' | 'offset' | 'what'>): Problem {
  return { ...problem, id, severity: 'lost' };
}

async function* checkSession(
  io: Io,
  { id, file }: SessionRecord,
  seen: Set<string>,
): AsyncGenerator<Problem> {
  if (!seen.has(file)) yield* checkFile(io, { id, file, isSession: true });
  seen.add(file);
  const folder = artifactsFolderOf(file);
  if (folder !== undefined) yield* checkFolder(io, { id, folder }, seen);
}

async function* checkFolder(
  io: Io,
  { id, folder }: { id: string; folder: string },
  seen: Set<string>,
): AsyncGenerator<Problem> {
  if ((await io.stat(folder))?.kind !== 'folder') return;
  for (const name of await io.list(folder)) {
    const path = join(folder, name);
    const isFolder = (await io.stat(path))?.kind === 'folder';
    if (isFolder && name !== SUMS_FOLDER) yield* checkFolder(io, { id, folder: path }, seen);
    if (!isFolder || name !== SUMS_FOLDER) continue;
    // Every file with checksums was there once.
    for (const known of await io.list(path)) {
      const file = join(folder, known);
      if (known.startsWith('.') || seen.has(file)) continue;
      seen.add(file);
      yield* checkFile(io, { id, file, isSession: isSessionName(known) });
    }
  }
}

async function* checkFile(
  io: Io,
  { id, file, isSession }: { id: string; file: string; isSession: boolean },
): AsyncGenerator<Problem> {
  const lost = (offset: number, what: string): Problem => toLost(id, { file, offset, what });
  const sums = await readSums(io, file);
  if (sums.damaged) {
    const what = `its checksums in ${sumsOf(file)} are damaged; remove that file, and they are made again`;
    yield lost(0, what);
  }
  try {
    yield* await withFile(io, file, async (opened) => {
      const changed = await findChanged(opened, sums, { from: 0, to: coveredBy(sums) });
      const found = changed.map(({ from, to }) => lost(from, toChange(file, from, to)));
      if (found.length === 0 && isSession) await readHeader(opened, file);
      return found;
    });
  } catch (error) {
    if (!isQuipuError(error)) throw error;
    const gone = isQuipuError(error, 'NOT_FOUND');
    yield lost(0, gone ? GONE : error.message);
  }
}

function toChange(file: string, from: number, to: number): string {
  return `bytes ${from} to ${to} are not what was written; restore the file from a backup, or, if the change was meant, remove ${sumsOf(file)}`;
}
