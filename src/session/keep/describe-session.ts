import { join } from 'node:path';
import { isQuipuError } from '../../base/errors.ts';
import type { Io, IoFile } from '../../engine/io.ts';
import { agentIdOf, compareAgentIds } from '../artifacts/artifact-names.ts';
import { Artifacts } from '../artifacts/artifacts.ts';
import { readHeader, withFile } from '../log/open-session-file.ts';
import { parseLine } from '../log/parse-line.ts';
import { readBackward } from '../log/read-lines.ts';
import { artifactsFolderOf } from '../log/session-names.ts';
import type { SessionDetails, SessionSummary } from '../sessions.ts';
import type { SessionsWorld } from '../sessions-world.ts';
import { standingOf } from './own-file.ts';
import { currentFile } from './registry.ts';
import type { SessionRecord } from './registry.ts';
import { SessionRefs } from './session-refs.ts';

/** The length of the end of a file in which the time of its last entry is searched. */
const TAIL_BYTES = 64 * 1024;

/** Reads the header and a little of the end, whatever the size. A file that cannot be read is reported as such. */
export async function summarize(
  world: SessionsWorld,
  record: SessionRecord,
): Promise<SessionSummary> {
  const { io } = world;
  const { id } = record;
  if ((await standingOf(world, record)) === 'foreign') {
    return { id, file: record.file, available: false };
  }
  const file = await currentFile(io, record);
  try {
    return await withFile(io, file, 'read', async (opened) => {
      const { header, end } = await readHeader(opened, file);
      const sizeBytes = await opened.size();
      const updatedAt = (await lastTimestamp(opened, end, sizeBytes)) ?? header.timestamp;
      return { id, file, available: true, header, sizeBytes, updatedAt };
    });
  } catch (error) {
    if (!isQuipuError(error)) throw error;
    return { id, file, available: false };
  }
}

async function lastTimestamp(file: IoFile, from: number, to: number): Promise<string | undefined> {
  for await (const line of readBackward(file, to, Math.max(from, to - TAIL_BYTES))) {
    const records = line.bytes === undefined ? [] : parseLine(line.bytes).records;
    const timestamp = records.at(-1)?.['timestamp'];
    if (typeof timestamp === 'string') return timestamp;
  }
  return undefined;
}

export async function describeSession(
  world: SessionsWorld,
  record: SessionRecord,
): Promise<SessionDetails> {
  const { io, engine } = world;
  const summary = await summarize(world, record);
  const isOwn = (await standingOf(world, record)) === 'own';
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
