import { dirname, join } from 'node:path';
import { checkWhole } from '../../base/check-value.ts';
import { QuipuError, invalid, messageOf, orNothing } from '../../base/errors.ts';
import { checkString, shown } from '../../base/text.ts';
import type { Io, IoFile } from '../../engine/io.ts';
import { Artifacts, agentIdOf, compareAgentIds } from '../artifacts/artifacts.ts';
import type { SessionHeader } from '../entries/session-entry.ts';
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
import { parseLine, readBackward, readHeader, withFile } from '../log/session-file.ts';
import {
  childrenOf,
  currentFile,
  type SessionsHome,
  type SessionRecord,
} from '../records/registry.ts';
import { SessionRefs } from '../records/session-refs.ts';
import { standingOf } from './find-session.ts';

// Sessions as they lie there, open or not: lists, details, and the removal of one or of those that are too many.

const LIST_DEFAULT = 50;
const LIST_MAX = 1000;

export interface SessionsPage {
  readonly items: readonly SessionSummary[];
  readonly cursor?: string;
}

export async function listSessions(
  home: SessionsHome,
  { limit = LIST_DEFAULT, cursor }: { readonly limit?: number; readonly cursor?: string },
): Promise<SessionsPage> {
  checkWhole(limit, 'limit', 1, LIST_MAX);
  if (cursor !== undefined) checkString(cursor, 'cursor');
  const { records, ...rest } = await home.registry.list(limit, cursor);
  const items: SessionSummary[] = [];
  for (const record of records) items.push(await summarize(home, record));
  return { items, ...rest };
}

/** The length of the end of a file in which the time of its last entry is searched. */
const TAIL_BYTES = 64 * 1024;

/** Reads the header and a little of the end, whatever the size. A file that cannot be read is reported as such. */
async function summarize(home: SessionsHome, record: SessionRecord): Promise<SessionSummary> {
  const { io } = home;
  const { id } = record;
  if ((await standingOf(home, record)) === 'foreign') {
    return { id, file: record.file, available: false };
  }
  const file = await currentFile(io, record);
  const read = await orNothing(() =>
    withFile(io, file, async (opened) => {
      const { header, end } = await readHeader(opened, file);
      const sizeBytes = await opened.size();
      const updatedAt = (await lastTimestamp(opened, end, sizeBytes)) ?? header.timestamp;
      return { header, sizeBytes, updatedAt };
    }),
  );
  return { id, file, available: read !== undefined, ...read };
}

async function lastTimestamp(file: IoFile, from: number, to: number): Promise<string | undefined> {
  for await (const line of readBackward(file, to, Math.max(from, to - TAIL_BYTES))) {
    const timestamp = parseLine(line.bytes).records.at(-1)?.['timestamp'];
    if (typeof timestamp === 'string') return timestamp;
  }
  return undefined;
}

export async function describeSession(
  home: SessionsHome,
  record: SessionRecord,
): Promise<SessionDetails> {
  const { io, engine } = home;
  const summary = await summarize(home, record);
  const isOwn = (await standingOf(home, record)) === 'own';
  const folder = isOwn ? artifactsFolderOf(summary.file) : undefined;
  const artifacts = folder === undefined ? undefined : new Artifacts(io, folder);
  const names = (await artifacts?.listFiles()) ?? [];
  const outputs = names.map(agentIdOf).filter((id) => id !== undefined);
  const refs = await new SessionRefs(engine, record.id).all();
  return {
    ...summary,
    ...(folder !== undefined && { artifactsFolder: folder }),
    artifacts: (await artifacts?.listIds()) ?? [],
    agentOutputs: outputs.toSorted(compareAgentIds),
    artifactBytes: folder === undefined ? 0 : await treeBytes(io, folder),
    blobs: refs.size,
  };
}

/** Bytes of all files below a folder; none when the folder is missing. */
async function treeBytes(io: Io, path: string): Promise<number> {
  const stat = await io.stat(path);
  if (stat?.kind === 'file') return stat.size;
  if (stat?.kind !== 'folder') return 0;
  let bytes = 0;
  for (const name of await io.list(path)) bytes += await treeBytes(io, join(path, name));
  return bytes;
}

export interface SessionSummary {
  readonly id: string;
  readonly file: string;
  /** False when the file is not there, or cannot be read: the other fields are then unknown. */
  readonly available: boolean;
  readonly header?: SessionHeader;
  readonly sizeBytes?: number;
  /** The time of the last entry. */
  readonly updatedAt?: string;
}

export interface SessionDetails extends SessionSummary {
  readonly artifactsFolder?: string;
  /** Ids of tool outputs, by number. */
  readonly artifacts: readonly string[];
  readonly agentOutputs: readonly string[];
  readonly artifactBytes: number;
  /** The number of blobs that the session refers to. */
  readonly blobs: number;
}

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
    const what = `Session file deleted but failed to remove artifacts directory ${folder}`;
    const errno = (error as { code?: string }).code ?? 'EIO';
    const message = `${what}: ${messageOf(error)}`;
    throw new QuipuError('IO', message, { path: folder, errno }, { cause: error });
  }
}
