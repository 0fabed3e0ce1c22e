import { resolve } from 'node:path';
import { orNothing, corrupt, invalid, notFound, type QuipuError } from '../../base/errors.ts';
import { checkString, encodeUtf8 } from '../../base/text.ts';
import type { Io, IoFile } from '../../engine/io.ts';
import { isHeader, SESSION_VERSION, toLine, type SessionHeader } from '../entries/session-entry.ts';
import { writeBehind } from '../files/carry-folder.ts';
import { carrySums, readSums } from '../files/file-sums.ts';
import { lockOf, parseSessionName } from '../files/session-names.ts';
import { isErrno, readBytes, toFileError, withFileLock, writeWhole } from '../files/write-file.ts';
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
    const [record] = parseLine(line.bytes).records;
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

/** Every byte of the file stays, behind the new header. A header that can be read is left as it is. */
export async function recoverHeader(io: Io, given: string): Promise<SessionHeader> {
  const path = resolve(checkString(given, 'file'));
  return withFileLock(io, lockOf(path), () =>
    withFile(io, path, 'read', async (file) => {
      const found = (await orNothing(() => readHeader(file, path), 'CORRUPT'))?.header;
      if (found !== undefined) return found;
      const named = parseSessionName(path);
      if (named === undefined)
        throw invalid('file', `must be called <timestamp>_<id>.jsonl, got ${path}`);
      const header: SessionHeader = {
        type: 'session',
        version: SESSION_VERSION,
        ...named,
        cwd: '',
      };
      const line = encodeUtf8(`${toLine(header)}\n`);
      const size = await file.size();
      const [first] = (await readSums(io, path)).ranges;
      const lost = await readBytes(file, Math.min(size, first?.end ?? 0));
      const parts = [{ from: 0, to: size }];
      await writeWhole(io, path, (target) => writeBehind(line, file, { target, parts }));
      // The old header is accepted as it is. The lines after it keep their checksums.
      await carrySums(io, { from: path, to: path }, [line, lost]).catch(() => undefined);
      return header;
    }),
  );
}
