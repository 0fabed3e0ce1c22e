import { basename, dirname, join } from 'node:path';
import { QuipuError, exists, invalid, locked, messageOf } from '../../base/errors.ts';
import { checkString, encodeUtf8 } from '../../base/text.ts';
import type { Io } from '../../engine/io.ts';
import { Artifacts, carryArtifacts } from '../artifacts/artifacts.ts';
import { toLine } from '../entries/session-entry.ts';
import { removeCarried, removeTree, writeBehind } from '../files/carry-folder.ts';
import { carrySums, removeSums } from '../files/file-sums.ts';
import { artifactsFolderOf, folderFor, lockOf, tornFileOf } from '../files/session-names.ts';
import { makeFolders, withFileLock, writeWhole } from '../files/write-file.ts';
import { readHeader, readHeaderOf, withFile } from '../log/session-file.ts';
import { childrenOf, type SessionRecord, type SessionsHome } from '../records/registry.ts';

// Moving a session to another folder, which may be on another device.
//
// Everything is at the new place, durable, before anything goes from the old one. One rename inside the old folder, of
// the session file to a hidden name, is the moment at which the new place counts. Until that rename is durable the
// session is at the old place, and after it at the new place, whole either way. The store knows of the move from before
// it begins until it is cleaned up. So a process that opens the session after a crash finishes or undoes the move.

type MoveHome = Pick<SessionsHome, 'io' | 'registry'>;

export interface MoveReport {
  readonly from: string;
  readonly to: string;
}

/** The target of a move. Without a folder, the session goes to the place where a session about `cwd` would begin. */
export interface MoveTarget {
  readonly folder?: string;
  readonly cwd?: string;
}

/** Reads the target in the forms that callers may give. */
export function toTarget(
  to: string | { readonly cwd: string },
  about: string | undefined,
): MoveTarget {
  const given: unknown = to;
  const isOptions = typeof given === 'object' && given !== null;
  const cwd = isOptions ? (given as { cwd?: unknown }).cwd : about;
  if (cwd !== undefined) checkString(cwd, 'cwd');
  if (isOptions && cwd !== undefined) return { cwd: cwd as string };
  if (typeof given !== 'string' || given === '') {
    throw invalid('folder', 'must be the path of a folder, or { cwd }');
  }
  return { folder: given, ...(about !== undefined && { cwd: about }) };
}

export async function moveSession(
  home: MoveHome & Pick<SessionsHome, 'root'>,
  record: SessionRecord,
  target: MoveTarget,
): Promise<MoveReport> {
  const { io, root } = home;
  const from = record.file;
  const cwd = target.cwd ?? (await readHeaderOf(io, from)).cwd;
  const folder = folderFor(root, target.folder, cwd);
  const to = join(folder, basename(from));
  if (from === to) return { from, to };
  await makeFolders(io, folder);
  await makeFolders(io, dirname(from));
  // The locks are taken in one order everywhere, so that two moves that cross do not wait for each other for ever.
  const [first, second] = [from, to].map(lockOf).toSorted() as [string, string];
  await withFileLock(io, first, () =>
    withFileLock(io, second, () => moveLocked(home, record, { to, cwd })),
  );
  return { from, to };
}

/** Finishes or undoes a move that did not get to its end. The caller holds no lock. */
export async function settleMove(home: MoveHome, record: SessionRecord): Promise<SessionRecord> {
  const { io, registry } = home;
  const { movingTo } = record;
  if (movingTo === undefined) return record;
  await makeFolders(io, dirname(record.file));
  return withFileLock(io, lockOf(record.file), async () => {
    // The process that was moving the session may have finished while this one waited.
    const now = (await registry.get(record.id)) ?? record;
    if (now.movingTo === undefined) return now;
    // Another move began meanwhile, to a place that nobody has checked here.
    if (now.movingTo !== movingTo || now.file !== record.file) {
      const message = `session ${now.id} is being moved by another process; try again`;
      throw locked(now.file, 'another process', message);
    }
    const isMoved =
      (await io.stat(now.file)) === undefined && (await io.stat(movingTo)) !== undefined;
    if (isMoved) return finish(home, now.id, { from: now.file, to: movingTo });
    await undo(home, { id: now.id, file: now.file }, movingTo);
    return { id: now.id, file: now.file };
  });
}

async function moveLocked(
  home: MoveHome,
  record: SessionRecord,
  { to, cwd }: { to: string; cwd: string },
): Promise<void> {
  const { io, registry } = home;
  const { id, file: from } = record;
  await assertNoClash(io, record, to);
  await registry.put({ id, file: from, movingTo: to });
  let step = 'artifacts';
  try {
    // The originals go, so files that still grow may share their bytes until then, too.
    await carryArtifacts(io, from, to, { shares: () => true, counts: true });
    step = 'session file';
    if ((await io.stat(from)) !== undefined) {
      await writeMoved(io, from, { to, cwd });
      await io.rename(from, hiddenOf(from));
      await io.syncDir(dirname(from));
    }
  } catch (error) {
    try {
      await undo(home, { id, file: from }, to);
    } catch (failure) {
      // The next opening settles the rest.
      const message = `Failed to move ${step} and rollback: ${messageOf(failure)}`;
      const errno = (failure as { code?: string }).code ?? 'EIO';
      throw new QuipuError('IO', message, { path: from, errno }, { cause: failure });
    }
    throw error;
  }
  await finish(home, id, { from, to });
}

async function assertNoClash(io: Io, { id, file: from }: SessionRecord, to: string): Promise<void> {
  if ((await io.stat(to)) !== undefined) {
    throw exists('session', id, `the folder has a session ${to} already; choose another folder`);
  }
  const [source, target] = [artifactsFolderOf(from), artifactsFolderOf(to)];
  if (source === undefined || target === undefined) return;
  const there = new Set(await new Artifacts(io, target).listFiles());
  const clash = (await new Artifacts(io, source).listFiles()).find((name) => there.has(name));
  if (clash === undefined) return;
  const path = join(target, clash);
  throw exists('artifact', clash, `the folder has an artifact ${path} already`);
}

async function writeMoved(
  io: Io,
  from: string,
  { to, cwd }: { to: string; cwd: string },
): Promise<void> {
  await withFile(io, from, async (source) => {
    const { header, end } = await readHeader(source, from);
    const size = await source.size();
    const line = encodeUtf8(`${toLine({ ...header, cwd })}\n`);
    const parts = [{ from: end, to: size }];
    await writeWhole(io, to, (target) => writeBehind(line, source, { target, parts }));
    await carrySums(io, { from, to }, [line]).catch(() => undefined);
  });
}

async function undo(home: MoveHome, record: SessionRecord, to: string): Promise<void> {
  const { io, registry } = home;
  const { file } = record;
  if ((await io.stat(file)) === undefined && (await io.stat(hiddenOf(file))) !== undefined) {
    await io.rename(hiddenOf(file), file);
    await io.syncDir(dirname(file));
  }
  await io.remove(to);
  await removeSums(io, to);
  const [source, target] = [artifactsFolderOf(file), artifactsFolderOf(to)];
  if (source !== undefined && target !== undefined) await removeCarried(io, source, target);
  await registry.put(record);
}

/** The session is at the new place. This removes the leftovers at the old one. */
async function finish(
  home: MoveHome,
  id: string,
  { from, to }: { from: string; to: string },
): Promise<SessionRecord> {
  const { io, registry } = home;
  // This happens before the move is forgotten, so that a move that is cut short does it again.
  for (const child of await childrenOf(home, from, to)) await registry.put(child);
  const source = artifactsFolderOf(from);
  if (source !== undefined) await removeTree(io, source).catch(() => undefined);
  for (const path of [hiddenOf(from), tornFileOf(from)]) {
    await io.remove(path).catch(() => undefined);
  }
  await removeSums(io, from).catch(() => undefined);
  await registry.put({ id, file: to });
  return { id, file: to };
}

/** The session file waits under this name until the new place counts. */
export function hiddenOf(file: string): string {
  return join(dirname(file), `.${basename(file)}.moved`);
}
