import { orNothing, corrupt, notFound, type QuipuError } from '../../base/errors.ts';
import type { Io, IoFile } from '../../engine/io.ts';
import { isHeader, type SessionHeader } from '../entries/session-entry.ts';
import { isErrno, toFileError } from '../files/write-file.ts';
import { parseLine, readForward } from './read-lines.ts';

export interface HeaderOfFile {
  readonly header: SessionHeader;
  /** The position behind the header's line. */
  readonly end: number;
}

/** Reads no more of the file than its first record. */
export async function readHeader(file: IoFile, path: string): Promise<HeaderOfFile> {
  const size = await file.size();
  for await (const line of readForward(file, 0, size)) {
    const [record] = line.bytes === undefined ? [] : parseLine(line.bytes).records;
    if (isHeader(record)) return { header: withDefaults(record), end: line.end };
    if (line.bytes === undefined || line.bytes.some((byte) => byte > 0x20)) break;
  }
  throw corrupt(path, `Session header is missing or corrupt: ${path}`);
}

function withDefaults(header: SessionHeader): SessionHeader {
  const { timestamp, cwd } = header as Partial<SessionHeader>;
  if (typeof timestamp === 'string' && typeof cwd === 'string') return header;
  return { ...header, timestamp: String(timestamp ?? ''), cwd: String(cwd ?? '') };
}

/** Opens a file for as long as `task` takes. */
export async function withFile<T>(
  io: Io,
  path: string,
  mode: 'read' | 'write' | 'create',
  task: (file: IoFile) => Promise<T>,
): Promise<T> {
  let file: IoFile;
  try {
    file = await io.open(path, mode);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) throw noSession(path);
    throw toFileError(error, path);
  }
  try {
    return await task(file);
  } finally {
    await file.close();
  }
}

export function noSession(path: string): QuipuError<'NOT_FOUND'> {
  return notFound('session', path, `there is no session at ${path}`);
}

export async function readHeaderOf(io: Io, path: string): Promise<SessionHeader> {
  return (await withFile(io, path, 'read', (file) => readHeader(file, path))).header;
}

/** Returns undefined when no header can be read. */
export async function idIn(io: Io, path: string): Promise<string | undefined> {
  return (await orNothing(() => readHeaderOf(io, path)))?.id;
}
