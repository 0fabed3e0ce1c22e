import { dirname, join } from 'node:path';
import { notFound, messageOf } from '../../base/errors.ts';
import { checkString, encodeUtf8 } from '../../base/text.ts';
import type { Io, IoFile } from '../../engine/io.ts';
import { Artifacts, carryArtifacts } from '../artifacts/artifacts.ts';
import { newSessionId, toLine, type SessionHeader } from '../entries/session-entry.ts';
import { removeTree, writeBehind, type Part } from '../files/carry-folder.ts';
import { coverSeen, carrySums, endOfLines, removeSums } from '../files/file-sums.ts';
import { artifactsFolderOf, folderFor, lockOf, toSessionName } from '../files/session-names.ts';
import { withFileLock, makeFolders, writeWhole } from '../files/write-file.ts';
import { readEntryLines, readHeader, withFile } from '../log/session-file.ts';
import type { SessionsHome } from '../records/registry.ts';
import { SessionRefs } from '../records/session-refs.ts';

// A session that goes on from another one.
//
// Order: the fork first notes the blobs that the new session needs, then brings its artifacts over. Its file appears
// last, whole. So a crash before that leaves no session and nothing missing from the old one, which is only read.

export interface SessionForkOptions {
  /** Keep only this entry and those that lead to it. Default: all entries. */
  readonly at?: string;
  /** Bring the artifacts along; default true. */
  readonly artifacts?: boolean;
  /** The folder of the new session; default beside the old one. */
  readonly folder?: string;
  readonly cwd?: string;
}

export interface ForkReport {
  readonly id: string;
  readonly oldFile: string;
  readonly newFile: string;
  readonly artifactsCopied: boolean;
  /** The reason why the requested copy of the artifacts was not made. */
  readonly warning?: string;
}

export async function forkSession(
  home: SessionsHome,
  file: string,
  options: SessionForkOptions,
): Promise<ForkReport> {
  const { io, engine, registry } = home;
  if (options.at !== undefined) checkString(options.at, 'at');
  if (options.cwd !== undefined) checkString(options.cwd, 'cwd');
  const now = home.clock();
  const timestamp = new Date(now).toISOString();
  const id = newSessionId(now);
  const folder = folderFor(home.root, options.folder ?? dirname(file), '');
  const newFile = join(folder, toSessionName(id, timestamp));
  await makeFolders(io, folder);
  return withFileLock(io, lockOf(file), () =>
    withFile(io, file, async (source) => {
      const { header, end } = await readHeader(source, file);
      const parts = await partsToKeep(source, { header, end, at: options.at });
      const refs = await new SessionRefs(engine, header.id).all();
      const fresh = {
        ...header,
        id,
        timestamp,
        cwd: options.cwd ?? header.cwd,
        parentSession: header.id,
      };
      try {
        await new SessionRefs(engine, id).adopt(refs);
        await registry.put({ id, file: newFile });
        const wanted = options.artifacts ?? true;
        const carried = await forkArtifacts(io, { file, newFile, wanted });
        const line = encodeUtf8(`${toLine(fresh)}\n`);
        await writeWhole(io, newFile, (target) => writeBehind(line, source, { target, parts }));
        if (options.at === undefined) {
          await carrySums(io, { from: file, to: newFile }, [line]).catch(() => undefined);
        } else await coverSeen(io, newFile);
        return { id, oldFile: file, newFile, ...carried };
      } catch (error) {
        await clear(home, id, newFile);
        throw error;
      }
    }),
  );
}

/** Restores the state before the fork, as far as the disk allows. */
async function clear({ io, registry }: SessionsHome, id: string, file: string): Promise<void> {
  const folder = artifactsFolderOf(file);
  if (folder !== undefined) await removeTree(io, folder).catch(() => undefined);
  await io.remove(file).catch(() => undefined);
  await removeSums(io, file).catch(() => undefined);
  await registry.remove(id).catch(() => undefined);
}

/** Whole lines are copied as they are. Nothing is read into them, so nothing that was put aside comes back. */
async function partsToKeep(
  source: IoFile,
  { header, end, at }: { header: SessionHeader; end: number; at: string | undefined },
): Promise<Part[]> {
  const whole = { from: end, to: await endOfLines(source, { from: end, to: await source.size() }) };
  if (at === undefined) return [whole];
  const lines = new Map<string, Part & { readonly parentId: unknown }>();
  const span = { ...whole, version: header.version ?? 1 };
  for await (const { entries, start, end: to } of readEntryLines(source, span)) {
    for (const { id, parentId } of entries) {
      if (typeof id === 'string') lines.set(id, { from: start, to, parentId });
    }
  }
  const kept: Part[] = [];
  for (let id: unknown = at; typeof id === 'string';) {
    const line = lines.get(id);
    if (line === undefined) break;
    lines.delete(id);
    kept.push(line);
    id = line.parentId;
  }
  if (kept.length > 0) return kept.toSorted((a, b) => a.from - b.from);
  throw notFound('entry', at, `there is no entry ${at}`);
}

async function forkArtifacts(
  io: Io,
  { file, newFile, wanted }: { file: string; newFile: string; wanted: boolean },
): Promise<{ artifactsCopied: boolean; warning?: string }> {
  const [from, to] = [artifactsFolderOf(file), artifactsFolderOf(newFile)];
  if (from === undefined || to === undefined || !wanted) return { artifactsCopied: false };
  const kind = (await io.stat(from))?.kind;
  if (kind === undefined) return { artifactsCopied: false };
  let reason = `${from} is no folder`;
  if (kind === 'folder') {
    try {
      // Sessions of subagents may still grow, and only on their own side.
      const shares = (name: string): boolean => !/\.jsonl(?:\.torn)?$/.test(name);
      await carryArtifacts(io, file, newFile, { shares, counts: true });
      return { artifactsCopied: true };
    } catch (error) {
      reason = messageOf(error);
      await removeTree(io, to).catch(() => undefined);
      // Entries may name the old ids: those ids must never come to mean something else.
      const raise = async (): Promise<void> =>
        new Artifacts(io, to).raiseCounters(await new Artifacts(io, from).counters());
      await raise().catch(() => undefined);
    }
  }
  return { artifactsCopied: false, warning: `the artifacts of ${file} were not copied: ${reason}` };
}
