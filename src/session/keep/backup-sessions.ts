import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { QuipuError, corrupt } from '../../base/errors.ts';
import { parseJsonObject } from '../../base/fields.ts';
import { encodeUtf8 } from '../../base/text.ts';
import type { Io } from '../../engine/io.ts';
import type { FileCopies } from '../../engine/upkeep.ts';
import { carryArtifacts } from '../artifacts/artifacts.ts';
import { copyWithSums, removeTree } from '../files/carry-folder.ts';
import {
  SUMS_FOLDER,
  coverSeen,
  coveredBy,
  findChanged,
  readSums,
  removeSums,
  sumsOf,
} from '../files/file-sums.ts';
import { artifactsFolderOf, lockOf, tornFileOf } from '../files/session-names.ts';
import { withFileLock, makeFolders, readWhole, writeAll, writeWhole } from '../files/write-file.ts';
import { withFile } from '../log/session-file.ts';
import { currentFile, type SessionsHome, type SessionRecord } from '../records/registry.ts';
import { standingOf } from './find-session.ts';

// Sessions in a backup: `sessions/<path>` for a file that is in the folder of sessions of the store, and
// `sessions/elsewhere/<its whole path>` for any other, each with its artifacts and checksums. `sessions/backup.json`
// lists them. It is written last, so that every file it names is there.

const LIST = 'backup.json';

type CopyHome = Pick<SessionsHome, 'io' | 'registry'>;

/** The places of sessions below the folder of sessions of a copy. */
type Places = Readonly<Record<string, string>>;

/**
 * Copies the files of every session on this machine. Files that are the same in an earlier backup stay. A file that
 * differs from what was written is not copied over an earlier copy. The others are copied, and then this throws
 * CORRUPT.
 */
export async function backUpSessions(
  { io, registry }: CopyHome,
  root: string,
  to: string,
): Promise<FileCopies> {
  const before = await readPlaces(io, to);
  const places: Record<string, string> = {};
  const sum = { files: 0, bytes: 0 };
  let damaged: QuipuError<'CORRUPT'> | undefined;
  for await (const record of registry.all()) {
    const file = await currentFile(io, record);
    const place = placeOf(root, file);
    const known = before[record.id];
    // If a file is gone or damaged, the backup keeps the earlier copy.
    if (known !== undefined) places[record.id] = known;
    if ((await io.stat(file)) === undefined) continue;
    if ((await standingOf({ io, root }, record)) !== 'own') continue;
    await coverSeen(io, file);
    const problem = await findProblem(io, file);
    damaged ??= problem;
    if (problem !== undefined) continue;
    places[record.id] = place;
    const copied = await copySession(io, file, join(to, place));
    sum.files += copied.files;
    sum.bytes += copied.bytes;
  }
  if (Object.keys(places).length === 0 && Object.keys(before).length === 0) return sum;
  await removeOthers(io, to, { before, places });
  await makeFolders(io, to);
  const bytes = encodeUtf8(`${JSON.stringify(places)}\n`);
  await writeWhole(io, join(to, LIST), (file) => writeAll(file, bytes, 0));
  if (damaged !== undefined) throw damaged;
  return sum;
}

/** Puts the sessions of a backup into the folder of a new store, which then knows them there. */
export async function restoreSessions(
  { io, registry }: CopyHome,
  from: string,
  root: string,
): Promise<FileCopies> {
  const sum = { files: 0, bytes: 0 };
  for (const [id, place] of Object.entries(await readPlaces(io, from))) {
    const [source, file] = [join(from, place), join(root, place)];
    const record: SessionRecord | undefined = await registry.get(id);
    if (record === undefined || !isBelow(root, file)) continue;
    const problem = await findProblem(io, source);
    if (problem !== undefined) throw problem;
    const copied = await copySession(io, source, file);
    sum.files += copied.files;
    sum.bytes += copied.bytes;
    await registry.put({ id, file });
  }
  return sum;
}

function placeOf(root: string, file: string): string {
  return isBelow(root, file) ? relative(root, file) : join('elsewhere', relative('/', file));
}

function isBelow(root: string, file: string): boolean {
  const path = relative(root, file);
  return path !== '' && !path.startsWith('..') && !isAbsolute(path);
}

async function copySession(io: Io, from: string, to: string): Promise<FileCopies> {
  return withFileLock(io, lockOf(from), async () => {
    const sum = { files: 0, bytes: 0 };
    await makeFolders(io, dirname(to));
    for (const [source, target] of [
      [from, to],
      [tornFileOf(from), tornFileOf(to)],
    ] as const) {
      if ((await io.stat(source)) === undefined || (await isSame(io, source, target))) continue;
      await copyWithSums(io, source, target);
      sum.files += 1;
      sum.bytes += (await io.stat(target))?.size ?? 0;
    }
    const renew = (source: string, target: string): Promise<void> =>
      renewSession(io, source, target);
    await carryArtifacts(io, from, to, { shares: () => false, renew });
    return sum;
  });
}

/** A subagent writes its session among the artifacts, and the session grows. Artifacts stay as they were written. */
async function renewSession(io: Io, from: string, to: string): Promise<void> {
  // Checksums go with their file.
  if (!from.endsWith('.jsonl') || basename(dirname(from)) === SUMS_FOLDER) return;
  if ((await io.stat(from))?.size === (await io.stat(to))?.size) return;
  if ((await findProblem(io, from)) === undefined) await copyWithSums(io, from, to);
}

/** Returns true when the copy has all bytes, and both files were written with the same bytes. */
async function isSame(io: Io, from: string, to: string): Promise<boolean> {
  const [size, copied] = [(await io.stat(from))?.size, (await io.stat(to))?.size];
  if (size !== copied) return false;
  const [sums, others] = [await readSums(io, from), await readSums(io, to)];
  if (coveredBy(sums) !== size) return false;
  return JSON.stringify(sums) === JSON.stringify(others);
}

async function findProblem(io: Io, path: string): Promise<QuipuError<'CORRUPT'> | undefined> {
  const sums = await readSums(io, path);
  const [span] = await withFile(io, path, (file) =>
    findChanged(file, sums, { from: 0, to: Infinity }),
  );
  if (span === undefined) return undefined;
  const message = `${path} is not what was written, in bytes ${span.from} to ${span.to}, and was not copied; an earlier copy stays as it is. "quipu verify" says more. If the change was meant, remove ${sumsOf(path)} and try again`;
  return new QuipuError('CORRUPT', message, { file: path, offset: span.from });
}

/** Removes from the backup the sessions that no longer exist, or that are somewhere else by now. */
async function removeOthers(
  io: Io,
  to: string,
  { before, places }: { before: Places; places: Places },
): Promise<void> {
  const kept = new Set(Object.values(places));
  for (const place of Object.values(before)) {
    if (kept.has(place) || !isBelow(to, join(to, place))) continue;
    const file = join(to, place);
    for (const path of [file, tornFileOf(file)]) await io.remove(path);
    await removeSums(io, file);
    const folder = artifactsFolderOf(file);
    if (folder !== undefined) await removeTree(io, folder);
  }
}

async function readPlaces(io: Io, folder: string): Promise<Places> {
  const path = join(folder, LIST);
  const bytes = await readWhole(io, path);
  if (bytes === undefined) return {};
  const places = parseJsonObject(bytes.toString('utf8'));
  if (places !== undefined && Object.values(places).every((place) => typeof place === 'string')) {
    return places as Places;
  }
  throw corrupt(path, `${path} is damaged: it does not say which sessions are in the backup`);
}
