import { isQuipuError } from '../../../base/errors.ts';
import { crc32 } from '../../../format/bytes.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import { decodeLogExtent, LOG_EXTENT_BYTES, type LogExtent } from '../../../format/log-extent.ts';
import { corrupt } from '../disk/io-error.ts';
import { EXTENTS_FOLDER, extentsFile, logOfExtents } from '../names.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { breathe, type CopyJob } from '../backup/copy-job.ts';

// Extents identify a log: a log that was removed and begun again has other extents, even at the same length. So the
// copy's extents are compared as a whole, 32 bytes per append. If they are the beginning of the store's extents,
// the copy of the log continues from their end.

type Take = (write: JournalWrite) => Promise<void>;

const START: LogExtent = { endOffset: 0, endLine: 0, contentCrc: 0 };
const PIECE_BYTES = 1024 * 1024;

export interface CopiedLog {
  /** The number of extents in the copy. 0 when the copy has to begin anew. */
  readonly extents: number;
  /** False when the log must be read again, in a moment without commits. */
  readonly sure: boolean;
}

export type CopiedLogs = Map<string, CopiedLog>;

/** Copies all logs beside writers. A log that may have changed meanwhile is not sure. */
export async function copyLogs(job: CopyJob, trusted: boolean): Promise<CopiedLogs> {
  const { from, into, progress } = job;
  const copied: CopiedLogs = new Map();
  for await (const name of listLogs(from)) {
    copied.set(name, await tryLog(job, name, trusted));
    if (copied.size % 64 === 0) await breathe();
    progress?.(copied.size, copied.size, 'logs');
  }
  for await (const name of listLogs(into.files)) {
    if (!copied.has(name)) copied.set(name, { extents: 0, sure: false });
  }
  return copied;
}

async function tryLog(job: CopyJob, name: string, trusted: boolean): Promise<CopiedLog> {
  const { from, into } = job;
  const known = trusted ? await knownExtents(job, name) : 0;
  // The copy has another log: the store's log was begun anew, or lost its end.
  if (known === undefined) return { extents: 0, sure: false };
  try {
    const take: Take = (write) => into.take(write);
    const { extents, bytes } = await copyLog({ from, take }, name, known);
    return { extents, sure: extents > 0 && bytes === (await from.size(name)) };
  } catch (error) {
    if (!isQuipuError(error, 'CORRUPT')) throw error;
    return { extents: 0, sure: false };
  }
}

/** Copies a log from extent `known` on, with checks. Returns the length that the extents describe. */
export async function copyLog(
  { from, take }: { from: StoreFiles; take: Take },
  name: string,
  known: number,
): Promise<{ extents: number; bytes: number }> {
  const extents = await readExtents(from, name);
  const count = extents.length / LOG_EXTENT_BYTES;
  if (!Number.isInteger(count)) {
    throw corrupt(extentsFile(name), extents.length, 'the last extent is cut short');
  }
  if (known === 0) await removeLog(take, name);
  let before = known === 0 ? START : extentAt(extents, known - 1, name);
  let gathered: Uint8Array[] = [];
  let gatheredBytes = 0;
  const flush = async (): Promise<void> => {
    const offset = before.endOffset - gatheredBytes;
    if (gatheredBytes > 0) {
      await take({ kind: 'bytes', path: name, offset, data: Buffer.concat(gathered) });
    }
    gathered = [];
    gatheredBytes = 0;
  };
  for (let index = known; index < count; index += 1) {
    const extent = extentAt(extents, index, name);
    const length = extent.endOffset - before.endOffset;
    const bytes = length < 0 ? new Uint8Array() : await from.read(name, before.endOffset, length);
    if (bytes.length !== length || crc32(bytes) !== extent.contentCrc) {
      throw corrupt(name, before.endOffset, 'these lines are not the ones that were written');
    }
    gathered.push(bytes);
    gatheredBytes += length;
    before = extent;
    if (gatheredBytes >= PIECE_BYTES) await flush();
  }
  await flush();
  if (known < count) {
    const offset = known * LOG_EXTENT_BYTES;
    const data = extents.subarray(offset);
    await take({ kind: 'bytes', path: extentsFile(name), offset, data });
  }
  return { extents: count, bytes: before.endOffset };
}

export async function removeLog(take: Take, name: string): Promise<void> {
  await take({ kind: 'remove', path: name });
  await take({ kind: 'remove', path: extentsFile(name) });
}

/** The number of extents that the copy has of this very log, 0 for none. Undefined when it has another log. */
async function knownExtents({ from, into }: CopyJob, name: string): Promise<number | undefined> {
  const theirs = await readExtents(into.files, name);
  if (theirs.length === 0) return 0;
  const ours = await from.read(extentsFile(name), 0, theirs.length);
  const known = theirs.length / LOG_EXTENT_BYTES;
  if (Buffer.compare(ours, theirs) !== 0 || !Number.isInteger(known)) return undefined;
  const { endOffset } = extentAt(theirs, known - 1, name);
  return (await into.files.size(name)) === endOffset ? known : undefined;
}

async function readExtents(files: StoreFiles, name: string): Promise<Uint8Array> {
  const path = extentsFile(name);
  const size = await files.size(path);
  return files.read(path, 0, size);
}

function extentAt(extents: Uint8Array, index: number, name: string): LogExtent {
  const offset = index * LOG_EXTENT_BYTES;
  const extent = decodeLogExtent(extents.subarray(offset, offset + LOG_EXTENT_BYTES));
  if (extent === undefined) throw corrupt(extentsFile(name), offset, `extent ${index} is damaged`);
  return extent;
}

export async function* listLogs(
  files: StoreFiles,
  folder: string = EXTENTS_FOLDER,
): AsyncGenerator<string> {
  for (const entry of await files.io.list(files.pathOf(folder))) {
    const path = `${folder}/${entry}`;
    const stat = await files.io.stat(files.pathOf(path));
    const log = logOfExtents(path);
    if (stat?.kind === 'folder') yield* listLogs(files, path);
    else if (stat !== undefined && log !== undefined) yield log;
  }
}
