import { crc32 } from '../../../format/bytes.ts';
import { decodeUtf8 } from '../../../base/text.ts';
import { decodeLogExtent, LOG_EXTENT_BYTES, type LogExtent } from '../../../format/log-extent.ts';
import type { LogState } from '../../plan/draft.ts';
import { isName } from '../../names.ts';
import { corrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';

export const EXTENTS_FOLDER = 'extents';

export function extentsFile(log: string): string {
  return `${EXTENTS_FOLDER}/${log}.ext`;
}

/** The log that an extents file describes; undefined for any other name. */
export function logOfExtents(name: string): string | undefined {
  return name.startsWith(`${EXTENTS_FOLDER}/`) && name.endsWith('.ext')
    ? name.slice(EXTENTS_FOLDER.length + 1, -4)
    : undefined;
}

// A log is a plain file of JSON lines that people can read, and cannot carry checksums. Its extents file has one
// fixed-size record per append: its end, its line number, and the checksum of its bytes. Both files grow in the
// same journal frame. A binary search over the extents finds line n.

const LINE_FEED = 0x0a;
/** The extent before the first: the start of the file. */
export const START: LogExtent = { endOffset: 0, endLine: 0, contentCrc: 0 };
export const NOT_WRITTEN = 'these lines are not the ones that were written';

/** Undefined when there are no extents of that name. */
export async function readLogState(files: StoreFiles, name: string): Promise<LogState | undefined> {
  if (!isName(name)) return undefined;
  const extentBytes = await files.size(extentsFile(name));
  const bytes = await files.size(name);
  if (extentBytes === 0) return undefined;
  const extents = Math.floor(extentBytes / LOG_EXTENT_BYTES);
  const last = await readExtent(files, name, extents - 1);
  if (extentBytes % LOG_EXTENT_BYTES !== 0 || last.endOffset !== bytes) {
    throw corrupt(name, bytes, `the log should have ${last.endOffset} bytes`);
  }
  return { lines: last.endLine, bytes, extents };
}

/** Whether there is such a log, damaged or not. */
export async function hasLog(
  files: StoreFiles,
  name: string,
  isDoc: () => boolean,
): Promise<boolean> {
  if (!isName(name)) return false;
  if ((await files.size(extentsFile(name))) > 0) return true;
  // A plain file without extents is a published document, or a log that lost them.
  return (await files.size(name)) > 0 && !isDoc();
}

/** Up to `limit` lines from line `from`. Each extent is checked before any of its lines is returned. */
export async function readLines(
  files: StoreFiles,
  name: string,
  state: LogState,
  range: { from: number; limit: number },
): Promise<string[]> {
  const lines: string[] = [];
  const end = Math.min(state.lines, range.from + range.limit);
  if (range.from >= end) return lines;
  let index = await extentOfLine(files, name, state, range.from);
  let before = await readExtent(files, name, index - 1);
  while (before.endLine < end) {
    const extent = await readExtent(files, name, index);
    const wanted = {
      from: Math.max(range.from, before.endLine),
      end: Math.min(end, extent.endLine),
    };
    lines.push(...(await readExtentLines(files, name, { before, extent, ...wanted })));
    before = extent;
    index += 1;
  }
  return lines;
}

/** An extent, and which of its lines to read. By default all of them. */
interface ExtentRange {
  readonly before: LogExtent;
  readonly extent: LogExtent;
  readonly from?: number;
  readonly end?: number;
}

/** The bytes of one extent, checked. */
export async function readExtentBytes(
  files: StoreFiles,
  name: string,
  before: LogExtent,
  extent: LogExtent,
): Promise<Uint8Array> {
  const length = extent.endOffset - before.endOffset;
  const bytes = length < 0 ? new Uint8Array() : await files.read(name, before.endOffset, length);
  if (bytes.length === length && crc32(bytes) === extent.contentCrc) return bytes;
  throw corrupt(name, before.endOffset, NOT_WRITTEN);
}

/** Lines of one extent. All of its bytes are checked. All of its lines are counted when all are read. */
export async function readExtentLines(
  files: StoreFiles,
  name: string,
  { before, extent, from = before.endLine, end = extent.endLine }: ExtentRange,
): Promise<string[]> {
  const bytes = await readExtentBytes(files, name, before, extent);
  const count = extent.endLine - before.endLine;
  const start = startOfLine(bytes, from - before.endLine, count);
  const lines = decodeUtf8(bytes.subarray(start, startOfLine(bytes, end - before.endLine, count)));
  const found = lines.split('\n');
  found.pop();
  if (found.length !== end - from) {
    throw corrupt(extentsFile(name), 0, `line counts do not match ${name}`);
  }
  return found;
}

/**
 * The byte where line `line` of `count` begins, searched from the nearer end. Decoding all lines to keep the last 576
 * of 5,000 took 2 of the 10 ms in which a long chat opens.
 */
function startOfLine(bytes: Uint8Array, line: number, count: number): number {
  let at = 0;
  if (line <= count - line) {
    for (let n = 0; n < line; n += 1) {
      const feed = bytes.indexOf(LINE_FEED, at);
      if (feed === -1) return bytes.length;
      at = feed + 1;
    }
    return at;
  }
  at = bytes.length;
  for (let n = count; n > line && at > 0; n -= 1) {
    at = at === 1 ? 0 : bytes.lastIndexOf(LINE_FEED, at - 2) + 1;
  }
  return at;
}

export async function readExtent(
  files: StoreFiles,
  name: string,
  index: number,
): Promise<LogExtent> {
  if (index < 0) return START;
  const offset = index * LOG_EXTENT_BYTES;
  return toExtent(await files.read(extentsFile(name), offset, LOG_EXTENT_BYTES), name, index);
}

export function toExtent(bytes: Uint8Array, name: string, index: number): LogExtent {
  const extent = decodeLogExtent(bytes);
  if (extent !== undefined) return extent;
  throw corrupt(extentsFile(name), index * LOG_EXTENT_BYTES, `extent ${index} is damaged`);
}

/** The extent that holds an existing line. */
export async function extentOfLine(
  files: StoreFiles,
  name: string,
  state: LogState,
  line: number,
): Promise<number> {
  let low = 0;
  let high = state.extents - 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const extent = await readExtent(files, name, middle);
    if (extent.endLine > line) high = middle;
    else low = middle + 1;
  }
  return low;
}
