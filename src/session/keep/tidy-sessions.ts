import { dirname, join } from 'node:path';
import { isErrno, isDraftName } from '../log/write-file.ts';
import { artifactsFolderOf } from '../log/session-names.ts';
import type { SessionSummary, TidyOptions, TidyReport } from '../sessions.ts';
import type { SessionsWorld } from '../sessions-world.ts';
import { summarize, treeBytes } from './describe-session.ts';
import { standingOf } from './own-file.ts';
import type { SessionRecord } from './registry.ts';
import { removeSession } from './remove-session.ts';

interface Weighed extends SessionSummary {
  readonly bytes: number;
}

/** Decides which sessions go, oldest first: those too old, then as many as needed to fit. */
export function planRetention(
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

export async function tidySessions(
  world: SessionsWorld,
  options: TidyOptions,
): Promise<TidyReport> {
  const { io, registry } = world;
  const sessions: Weighed[] = [];
  const missing: SessionRecord[] = [];
  for await (const record of registry.all()) {
    const summary = await summarize(world, record);
    const isForeign = (await standingOf(world, record)) === 'foreign';
    // The file at this place belongs to somebody else.
    if (isForeign || (await io.stat(summary.file)) === undefined)
      missing.push({ ...record, file: summary.file });
    // A session that is there and cannot be read is kept, and not counted.
    else if (summary.available)
      sessions.push({ ...summary, bytes: await weigh(world, summary.file) });
  }
  const going = planRetention(sessions, options, world.clock());
  const drafts = options.drafts === true ? await findDrafts(world, sessions) : [];
  const forgotten = options.forgetMissing === true ? missing : [];
  if (options.dryRun !== true) {
    for (const { id, file } of going) await removeSession(world, { id, file });
    for (const { id } of forgotten) await registry.remove(id);
    if (options.forgetMissing === true) await forgetCopies(world);
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

async function forgetCopies({ io, registry }: SessionsWorld): Promise<void> {
  const copies: SessionRecord[] = [];
  for await (const copy of registry.copies()) copies.push(copy);
  for (const { file } of copies) {
    if ((await io.stat(file)) === undefined) await registry.forgetCopy(file);
  }
}

async function weigh({ io }: SessionsWorld, file: string): Promise<number> {
  const folder = artifactsFolderOf(file);
  return (await treeBytes(io, file)) + (folder === undefined ? 0 : await treeBytes(io, folder));
}

async function findDrafts({ io }: SessionsWorld, sessions: readonly Weighed[]): Promise<string[]> {
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
