import { join } from 'node:path';
import { orNothing } from '../../base/errors.ts';
import type { Io, IoFile } from '../../engine/io.ts';
import { agentIdOf, compareAgentIds, Artifacts } from '../artifacts/artifacts.ts';
import type { SessionHeader } from '../entries/session-entry.ts';
import { artifactsFolderOf } from '../files/session-names.ts';
import { parseLine, readBackward, readHeader, withFile } from '../log/session-file.ts';
import { currentFile, type SessionsHome, type SessionRecord } from '../records/registry.ts';
import { SessionRefs } from '../records/session-refs.ts';
import { standingOf } from './find-session.ts';

/** The length of the end of a file in which the time of its last entry is searched. */
const TAIL_BYTES = 64 * 1024;

/** Reads the header and a little of the end, whatever the size. A file that cannot be read is reported as such. */
export async function summarize(
  home: SessionsHome,
  record: SessionRecord,
): Promise<SessionSummary> {
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
export async function treeBytes(io: Io, path: string): Promise<number> {
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
