import { isQuipuError } from '../../../base/errors.ts';
import { toBuffer } from '../../../format/bytes.ts';
import { LOG_EXTENT_BYTES, type LogExtent } from '../../../format/log-extent.ts';
import { corrupt, unlessCorrupt } from '../disk/io-error.ts';
import type { LogState } from '../../plan/draft.ts';
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
  copy: { when: 'noted', run: copyLogs },
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
  const { from, into, progress, between } = job;
  const names = new Set<string>();
  for (const files of [from, into.files]) {
    for await (const name of listLogs(files)) names.add(name);
  }
  let done = 0;
  for (const name of names) {
    const read = (): Promise<LogState | undefined> => readLogState(from, name);
    // A log that grows, or is removed or begun anew, can look damaged. Between two groups nothing moves, and the
    // log and its extents must agree: damage must not replace a good copy.
    const state = (await unlessCorrupt(read)) ?? (await between(read));
    try {
      await copyLog(job, name, state);
    } catch (error) {
      if (!isQuipuError(error, 'CORRUPT')) throw error;
      await between(async () => copyLog(job, name, await read()));
    }
    done += 1;
    progress?.(done, names.size, 'logs');
    if (done % 64 === 0) await breathe();
  }
}

/** Copies what the copy lacks of a log. `state` is undefined for a log without extents. */
async function copyLog(job: CopyJob, name: string, state: LogState | undefined): Promise<void> {
  const { from, into, logs } = job;
  logs.delete(name);
  if (state === undefined && (await job.hasLog(name))) {
    throw corrupt(extentsFile(name), 0, `the extents of ${name} are gone`);
  }
  const bytes = (state?.extents ?? 0) * LOG_EXTENT_BYTES;
  const extents = await from.read(extentsFile(name), 0, bytes);
  const known = await knownExtents(job, name, extents);
  if (known === 0) {
    await into.remove(name);
    await into.remove(extentsFile(name));
  }
  if (state === undefined) return;
  const start = extentAt(extents, known - 1, name).endOffset;
  await into.stream(name, start, linesFrom(from, name, extents, known));
  const offset = known * LOG_EXTENT_BYTES;
  if (offset < bytes) await into.put(extentsFile(name), offset, extents.subarray(offset));
  logs.add(name);
}

/** The bytes of each extent from number `known` on, checked. */
async function* linesFrom(
  files: StoreFiles,
  name: string,
  extents: Uint8Array,
  known: number,
): AsyncGenerator<Uint8Array> {
  let before = extentAt(extents, known - 1, name);
  for (let index = known; index * LOG_EXTENT_BYTES < extents.length; index += 1) {
    const extent = extentAt(extents, index, name);
    yield await readExtentBytes(files, name, before, extent);
    before = extent;
  }
}

/** The number of extents that the copy has of this very log. 0 when it has none, or another log. */
async function knownExtents({ into }: CopyJob, name: string, ours: Uint8Array): Promise<number> {
  const length = await into.files.size(extentsFile(name));
  const known = length / LOG_EXTENT_BYTES;
  const theirs = await into.files.read(extentsFile(name), 0, length);
  if (!Number.isInteger(known) || !toBuffer(ours).subarray(0, length).equals(theirs)) return 0;
  const { endOffset } = extentAt(theirs, known - 1, name);
  return (await into.files.size(name)) === endOffset ? known : 0;
}

function extentAt(extents: Uint8Array, index: number, name: string): LogExtent {
  const offset = index * LOG_EXTENT_BYTES;
  return index < 0
    ? START
    : toExtent(extents.subarray(offset, offset + LOG_EXTENT_BYTES), name, index);
}

export async function* listLogs(files: StoreFiles): AsyncGenerator<string> {
  for await (const path of walkFolder(files, EXTENTS_FOLDER)) {
    const log = logOfExtents(path);
    if (log !== undefined) yield log;
  }
}
