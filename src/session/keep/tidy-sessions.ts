import { dirname, join } from 'node:path';
import { QuipuError, invalid, messageOf } from '../../base/errors.ts';
import { shown } from '../../base/text.ts';
import { removeTree } from '../files/carry-folder.ts';
import { removeSums } from '../files/file-sums.ts';
import { artifactsFolderOf, lockOf, tornFileOf } from '../files/session-names.ts';
import {
  isErrno,
  isDraftName,
  withFileLock,
  makeFolders,
  toFileError,
} from '../files/write-file.ts';
import { childrenOf, type SessionsHome, type SessionRecord } from '../records/registry.ts';
import { summarize, treeBytes, type SessionSummary } from './describe-session.ts';
import { standingOf } from './find-session.ts';

interface Weighed extends SessionSummary {
  readonly bytes: number;
}

/** Decides which sessions go, oldest first: those too old, then as many as needed to fit. */
function planRetention(
  sessions: readonly Weighed[],
  { maxAgeMs, maxBytes }: Pick<TidyOptions, 'maxAgeMs' | 'maxBytes'>,
  nowMs: number,
): Weighed[] {
  const byAge = sessions.toSorted((a, b) => timeOf(a) - timeOf(b));
  let left = sessions.reduce((sum, { bytes }) => sum + bytes, 0);
  const going: Weighed[] = [];
  for (const session of byAge) {
    const isOld = maxAgeMs !== undefined && timeOf(session) < nowMs - maxAgeMs;
    if (!isOld && (maxBytes === undefined || left <= maxBytes)) continue;
    going.push(session);
    left -= session.bytes;
  }
  return going;
}

/** A time that cannot be read counts as now: no session is removed because its time is unclear. */
function timeOf({ updatedAt }: SessionSummary): number {
  const time = Date.parse(updatedAt ?? '');
  return Number.isNaN(time) ? Number.MAX_SAFE_INTEGER : time;
}

export async function tidySessions(home: SessionsHome, options: TidyOptions): Promise<TidyReport> {
  const { io, registry } = home;
  for (const name of ['maxAgeMs', 'maxBytes'] as const) {
    const amount = options[name];
    if (amount === undefined || (Number.isFinite(amount) && amount >= 0)) continue;
    throw invalid(name, `must be a number from 0, got ${shown(amount)}`);
  }
  const sessions: Weighed[] = [];
  const missing: SessionRecord[] = [];
  for await (const record of registry.all()) {
    const summary = await summarize(home, record);
    const isForeign = (await standingOf(home, record)) === 'foreign';
    // The file at this place belongs to somebody else.
    if (isForeign || (await io.stat(summary.file)) === undefined)
      missing.push({ ...record, file: summary.file });
    // A session that is there and cannot be read is kept, and not counted.
    else if (summary.available)
      sessions.push({ ...summary, bytes: await weigh(home, summary.file) });
  }
  const going = planRetention(sessions, options, home.clock());
  const drafts = options.drafts === true ? await findDrafts(home, sessions) : [];
  const forgotten = options.forgetMissing === true ? missing : [];
  if (options.dryRun !== true) {
    for (const { id, file } of going) await removeSession(home, { id, file });
    for (const { id } of forgotten) await registry.remove(id);
    if (options.forgetMissing === true) await forgetCopies(home);
    for (const path of drafts) await io.remove(path);
  }
  return {
    sessions: sessions.length,
    bytes: sessions.reduce((sum, { bytes }) => sum + bytes, 0),
    removed: going.map(({ id, file, bytes }) => ({ id, file, bytes })),
    missing: missing.map(({ id, file }) => ({ id, file })),
    forgotten: forgotten.length,
    drafts: drafts.length,
  };
}

async function forgetCopies({ io, registry }: SessionsHome): Promise<void> {
  const copies: SessionRecord[] = [];
  for await (const copy of registry.copies()) copies.push(copy);
  for (const { file } of copies) {
    if ((await io.stat(file)) === undefined) await registry.forgetCopy(file);
  }
}

async function weigh({ io }: SessionsHome, file: string): Promise<number> {
  const folder = artifactsFolderOf(file);
  return (await treeBytes(io, file)) + (folder === undefined ? 0 : await treeBytes(io, folder));
}

async function findDrafts({ io }: SessionsHome, sessions: readonly Weighed[]): Promise<string[]> {
  const folders = new Set(
    sessions.flatMap(({ file }) => [dirname(file), artifactsFolderOf(file) ?? dirname(file)]),
  );
  const drafts: string[] = [];
  for (const folder of folders) {
    try {
      const names = await io.list(folder);
      drafts.push(...names.filter(isDraftName).map((name) => join(folder, name)));
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) throw error;
    }
  }
  return drafts;
}

export interface TidyOptions {
  /** Remove sessions whose last entry is older. */
  readonly maxAgeMs?: number;
  /** Remove the oldest sessions until files and artifacts take no more than this. */
  readonly maxBytes?: number;
  /** Forget sessions whose file is gone, and release their blobs. */
  readonly forgetMissing?: boolean;
  /** Remove files that were begun and never finished. Only while no agent is at work. */
  readonly drafts?: boolean;
  readonly dryRun?: boolean;
}

export interface TidyReport {
  readonly sessions: number;
  /** Bytes of files and artifacts, before the removal. */
  readonly bytes: number;
  readonly removed: readonly {
    readonly id: string;
    readonly file: string;
    readonly bytes: number;
  }[];
  /** Sessions that the store knows, and whose file is gone. */
  readonly missing: readonly { readonly id: string; readonly file: string }[];
  readonly forgotten: number;
  readonly drafts: number;
}

/**
 * Removes the file, the artifacts, and the store's record. A part that is gone already is no error. Blobs are left to a
 * garbage collection.
 */
export async function removeSession(home: SessionsHome, record: SessionRecord): Promise<void> {
  const { io, registry } = home;
  const { id, file } = record;
  await makeFolders(io, dirname(file));
  await withFileLock(io, lockOf(file), async () => {
    try {
      await io.remove(file);
      await io.remove(tornFileOf(file));
      await removeSums(io, file);
      await io.syncDir(dirname(file));
    } catch (error) {
      throw toFileError(error, file);
    }
  });
  for (const child of await childrenOf(home, file)) await registry.remove(child.id);
  // A copy made by hand goes alone: the session is another file.
  if ((await registry.get(id))?.file === file) await registry.remove(id);
  await registry.forgetCopy(file);
  await io.remove(lockOf(file)).catch(() => undefined);
  const folder = artifactsFolderOf(file);
  if (folder === undefined) return;
  try {
    await removeTree(io, folder);
  } catch (error) {
    const reason = messageOf(error);
    throw new QuipuError(
      'IO',
      `Session file deleted but failed to remove artifacts directory ${folder}: ${reason}`,
      { path: folder, errno: (error as { code?: string }).code ?? 'EIO' },
      { cause: error },
    );
  }
}
