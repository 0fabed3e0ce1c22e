import { isQuipuError } from '../../../base/errors.ts';
import { decodeUtf8 } from '../../../base/text.ts';
import { walkFolder } from '../disk/folders.ts';
import { corrupt, unlessCorrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import {
  EXTENTS_FOLDER,
  extentsFile,
  logOfExtents,
  NOT_WRITTEN,
  readExtent,
  readExtentBytes,
  readExtentLines,
  readLogState,
  START,
  toExtent,
} from './line-log.ts';
import { mendLog, openDamaged } from './salvage-log.ts';
import { type Check, type Found, staleIndex, lost } from '../truth/check.ts';
import { breathe, type CopyJob } from '../truth/copy.ts';
import type { Rebuild, Truth } from '../truth/truth.ts';
import type { LogState } from '../../plan/draft.ts';
import { crc32 } from '../../../format/bytes.ts';
import { decodeLogExtent, LOG_EXTENT_BYTES, type LogExtent } from '../../../format/log-extent.ts';

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
  for await (const name of listLogs(files)) {
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
async function knownExtents({ into }: CopyJob, name: string, ours: Buffer): Promise<number> {
  const length = await into.files.size(extentsFile(name));
  const known = length / LOG_EXTENT_BYTES;
  const theirs = await into.files.read(extentsFile(name), 0, length);
  if (!Number.isInteger(known) || !ours.subarray(0, length).equals(theirs)) return 0;
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

const PAGE = 1000;

/** Checks every log: extents, lines, lengths, and whether the index lists exactly these logs. */
async function checkLogs(check: Check): Promise<void> {
  const { core, files, findings, writer } = check;
  for await (const name of listLogs(files)) {
    findings.counts.logs += 1;
    await checkLog(check, name);
  }
  let after: string | undefined;
  for (;;) {
    const page = core.index.flushed().listLogs('', PAGE, after);
    for (const name of page) {
      if ((await files.size(extentsFile(name))) > 0) continue;
      // The log was removed meanwhile, or is really gone.
      await writer.exclusively(() => checkListed(check, name));
    }
    after = page.at(-1);
    if (after === undefined) return;
  }
}

async function checkListed({ core, files, findings }: Check, name: string): Promise<void> {
  const listed = core.index.flushed().listLogs(name, 1)[0] === name;
  if (!listed || (await files.size(extentsFile(name))) > 0) return;
  const what = `the extents of ${name} are gone`;
  findings.add({ ...lost(extentsFile(name), 0, what), id: name });
}

async function checkLog(check: Check, name: string): Promise<void> {
  const { files, findings, writer } = check;
  // Lines that moved because the file became longer or shorter before them are not lost.
  const { shift } = await writer.exclusively(() => openDamaged(files, name));
  const extents = Math.floor((await files.size(extentsFile(name))) / LOG_EXTENT_BYTES);
  for (let index = 0; index < extents; index += 1) {
    const { problem, bytes } = await examine(files, name, shift, index);
    await findings.breathe(bytes, 'logs');
    if (problem === undefined) continue;
    // The log may have been removed and begun again between two reads.
    await writer.exclusively(async () => {
      const again = await examine(files, name, shift, index);
      if (again.problem !== undefined) findings.add(again.problem);
    });
  }
  await writer.exclusively(() => checkEnd(check, name));
}

interface Examined {
  readonly problem?: Found;
  readonly bytes: number;
}

/** Checks one extent and its lines, which may be off their place by `shift`. An extent that no longer exists is fine. */
async function examine(
  files: StoreFiles,
  name: string,
  shift: number,
  index: number,
): Promise<Examined> {
  const at = index * LOG_EXTENT_BYTES;
  const first = Math.max(0, at - LOG_EXTENT_BYTES);
  const bytes = await files.read(extentsFile(name), first, at + LOG_EXTENT_BYTES - first);
  if (bytes.length === 0) return { bytes: 0 };
  const before = index === 0 ? START : decodeLogExtent(bytes.subarray(0, LOG_EXTENT_BYTES));
  const extent = decodeLogExtent(bytes.subarray(at - first));
  const inExtent = (what: string): Found => ({
    ...lost(extentsFile(name), at, what, LOG_EXTENT_BYTES),
    id: name,
  });
  if (extent === undefined) {
    return { problem: inExtent(`extent ${index} is damaged`), bytes: 0 };
  }
  // The extent before tells the start of these lines, and its damage was reported.
  if (before === undefined) return { bytes: 0 };
  const length = extent.endOffset - before.endOffset;
  if (length <= 0 || extent.endLine <= before.endLine) {
    return { problem: inExtent(`extent ${index} ends before it begins`), bytes: 0 };
  }
  const wrong = await wrongAt(before.endOffset);
  if (wrong === undefined) return { bytes: length + LOG_EXTENT_BYTES };
  const what = WRONG[wrong];
  const inLog = { ...lost(name, before.endOffset, what, length), id: name };
  return { problem: wrong === 'count' ? inExtent(what) : inLog, bytes: length };

  async function wrongAt(offset: number): Promise<keyof typeof WRONG | undefined> {
    const found = wrongLines(
      await files.read(name, offset, length),
      before ?? START,
      extent ?? START,
    );
    if (found !== 'bytes' || shift === 0 || offset !== before?.endOffset) return found;
    return offset + shift < 0 ? found : wrongAt(offset + shift);
  }
}

const WRONG = {
  bytes: NOT_WRITTEN,
  count: 'the number of lines does not match the log',
  json: 'a line here is not JSON',
} as const;

function wrongLines(
  content: Uint8Array,
  before: LogExtent,
  extent: LogExtent,
): keyof typeof WRONG | undefined {
  const length = extent.endOffset - before.endOffset;
  if (content.length !== length || crc32(content) !== extent.contentCrc) return 'bytes';
  try {
    const lines = decodeUtf8(content).split('\n');
    if (lines.pop() !== '' || lines.length !== extent.endLine - before.endLine) return 'count';
    for (const line of lines) JSON.parse(line);
    return undefined;
  } catch {
    // INVALID or SyntaxError: the answer.
    return 'json';
  }
}

/** The log ends where its last extent does, and the index lists it. */
async function checkEnd({ core, files, findings }: Check, name: string): Promise<void> {
  const extentBytes = await files.size(extentsFile(name));
  if (extentBytes === 0) return;
  const rest = extentBytes % LOG_EXTENT_BYTES;
  if (rest > 0) {
    const what = 'half an extent is at the end';
    findings.add({ ...lost(extentsFile(name), extentBytes - rest, what, rest), id: name });
  }
  const at = extentBytes - rest - LOG_EXTENT_BYTES;
  const last = decodeLogExtent(
    await files.read(extentsFile(name), Math.max(0, at), LOG_EXTENT_BYTES),
  );
  const size = await files.size(name);
  if (last !== undefined && last.endOffset !== size) {
    const offset = Math.min(size, last.endOffset);
    const what = `the log should have ${last.endOffset} bytes`;
    findings.add({ ...lost(name, offset, what, size - offset), id: name });
  }
  if (core.index.flushed().listLogs(name, 1)[0] !== name) {
    findings.add(staleIndex(`the index does not list log ${name}`, name));
  }
}
