import { isQuipuError } from '../../../base/errors.ts';
import { LOG_EXTENT_BYTES, type LogExtent } from '../../../format/log-extent.ts';
import { corrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { walkFolder } from '../disk/folders.ts';
import { breathe, type CopyJob } from '../truth/copy.ts';
import type { Rebuild } from '../truth/rebuild.ts';
import type { Truth } from '../truth/truth.ts';
import { checkLogs } from './check-logs.ts';
import {
  EXTENTS_FOLDER,
  extentsFile,
  logOfExtents,
  readExtent,
  readExtentBytes,
  readExtentLines,
  readLogState,
  START,
  toExtent,
} from './line-log.ts';
import { mendLog } from './salvage-log.ts';

// Logs: plain files of JSON lines, each with a file of extents.                      docs/format/docs-and-logs.md
// Invariants
// - Both files of a log grow in the same frame: one extent for the lines of one append.
// - An extent proves its lines. A line that no extent proves is never returned.
// - A name without extents is no log, even where a plain file has that name.

const PIECE_BYTES = 1024 * 1024;

export const LOGS: Truth = {
  name: 'logs',
  folders: [EXTENTS_FOLDER],
  files: [],
  owns: (path) => logOfExtents(path) !== undefined,
  // Each log knows its own end.
  lengths: () => [],
  advance: (tails) => tails,
  replay({ index }, { kind, path }) {
    const log = logOfExtents(path);
    if (log !== undefined) index.setLog(log, kind === 'remove');
  },
  rebuild: rebuildLogs,
  check: checkLogs,
  mend: {
    after: 'nothing',
    async run({ writer, found, quarantine }) {
      const names = found.flatMap(({ file, id, severity }) =>
        severity === 'lost' && id !== undefined && (file === id || file === extentsFile(id))
          ? [id]
          : [],
      );
      for (const name of new Set(names)) await mendLog(writer, name, quarantine);
    },
  },
  copy: { noted: copyLogs },
};

/** Indexes every log that has extents, each checked line by line against them. */
async function rebuildLogs({ files, index, damage }: Rebuild): Promise<void> {
  for await (const path of walkFolder(files, EXTENTS_FOLDER)) {
    const name = logOfExtents(path);
    if (name === undefined) continue;
    index.setLog(name, false);
    try {
      const state = await readLogState(files, name);
      let before = await readExtent(files, name, -1);
      for (let at = 0; at < (state?.extents ?? 0); at += 1) {
        const extent = await readExtent(files, name, at);
        await readExtentLines(files, name, { before, extent });
        before = extent;
      }
    } catch (error) {
      if (!isQuipuError(error, 'CORRUPT')) throw error;
      const { file, offset } = error.data;
      damage.add({ area: 'logs', file, offset, what: error.message });
    }
    index.maybeFlush();
  }
}

// Extents identify a log: a log that was removed and begun again has other extents, even at the same length. So the
// copy's extents are compared as a whole, 32 bytes per append. If they are the beginning of the store's extents,
// the copy of the log continues from their end.

/** Copies all logs, and removes those that the store does not have. */
async function copyLogs(job: CopyJob): Promise<void> {
  const { from, into, progress } = job;
  const { logs } = job.copied;
  for await (const name of listLogs(from)) {
    logs.add(name);
    await copyLog(job, name);
    if (logs.size % 64 === 0) await breathe();
    progress?.(logs.size, logs.size, 'logs');
  }
  for await (const name of listLogs(into.files)) {
    if (!logs.has(name)) await job.between(() => settleLog(job, name, false));
  }
}

async function copyLog(job: CopyJob, name: string): Promise<void> {
  let isCopied = false;
  try {
    const end = await copyExtents(job, name, await knownExtents(job, name));
    isCopied = true;
    if (end === (await job.from.size(name))) return;
  } catch (error) {
    if (!isQuipuError(error, 'CORRUPT')) throw error;
  }
  await job.between(() => settleLog(job, name, isCopied));
}

/**
 * A log that looks damaged may have grown, or been removed or begun anew meanwhile. Between two groups nothing moves,
 * and here the log and its extents must agree: damage must not replace a good copy.
 */
async function settleLog(job: CopyJob, name: string, isCopied: boolean): Promise<void> {
  const { logs } = job.copied;
  if ((await readLogState(job.from, name)) !== undefined) {
    if (!isCopied) await copyExtents(job, name, 0);
    logs.add(name);
    return;
  }
  if (await job.hasLog(name)) throw extentsGone(name);
  await removeLog(job, name);
  logs.delete(name);
}

/** Copies a log from extent `known` on, with checks. Returns the length that the extents describe. */
async function copyExtents(job: CopyJob, name: string, known: number): Promise<number> {
  const { from, into } = job;
  const extents = await readExtents(from, name);
  const count = extents.length / LOG_EXTENT_BYTES;
  if (!Number.isInteger(count)) {
    throw corrupt(extentsFile(name), extents.length, 'the last extent is cut short');
  }
  if (count === 0) throw extentsGone(name);
  if (known === 0) await removeLog(job, name);
  let before = known === 0 ? START : extentAt(extents, known - 1, name);
  let gathered: Uint8Array[] = [];
  let start = before.endOffset;
  const flush = async (): Promise<void> => {
    if (before.endOffset > start) await into.put(name, start, Buffer.concat(gathered));
    gathered = [];
    start = before.endOffset;
  };
  for (let index = known; index < count; index += 1) {
    const extent = extentAt(extents, index, name);
    gathered.push(await readExtentBytes(from, name, before, extent));
    before = extent;
    if (before.endOffset - start >= PIECE_BYTES) await flush();
  }
  await flush();
  const offset = known * LOG_EXTENT_BYTES;
  if (known < count) await into.put(extentsFile(name), offset, extents.subarray(offset));
  return before.endOffset;
}

function extentsGone(name: string): Error {
  return corrupt(extentsFile(name), 0, `the extents of ${name} are gone`);
}

async function removeLog({ into }: CopyJob, name: string): Promise<void> {
  await into.remove(name);
  await into.remove(extentsFile(name));
}

/** The number of extents that the copy has of this very log. 0 when it has none, or another log. */
async function knownExtents({ from, into, trusted }: CopyJob, name: string): Promise<number> {
  const theirs = trusted ? await readExtents(into.files, name) : new Uint8Array();
  const known = theirs.length / LOG_EXTENT_BYTES;
  if (known === 0 || !Number.isInteger(known)) return 0;
  const ours = await from.read(extentsFile(name), 0, theirs.length);
  if (Buffer.compare(ours, theirs) !== 0) return 0;
  const { endOffset } = extentAt(theirs, known - 1, name);
  return (await into.files.size(name)) === endOffset ? known : 0;
}

async function readExtents(files: StoreFiles, name: string): Promise<Uint8Array> {
  const path = extentsFile(name);
  return files.read(path, 0, await files.size(path));
}

function extentAt(extents: Uint8Array, index: number, name: string): LogExtent {
  const offset = index * LOG_EXTENT_BYTES;
  return toExtent(extents.subarray(offset, offset + LOG_EXTENT_BYTES), name, index);
}

export async function* listLogs(files: StoreFiles): AsyncGenerator<string> {
  for await (const path of walkFolder(files, EXTENTS_FOLDER)) {
    const log = logOfExtents(path);
    if (log !== undefined) yield log;
  }
}
