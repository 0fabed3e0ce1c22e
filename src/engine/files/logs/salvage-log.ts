import type { StateWriter } from '../truth/state.ts';
import { crc32 } from '../../../format/bytes.ts';
import { decodeUtf8 } from '../../../base/text.ts';
import { decodeLogExtent, LOG_EXTENT_BYTES, type LogExtent } from '../../../format/log-extent.ts';
import type { LogDamage, SalvagedLog } from '../../rows.ts';
import { extentsFile } from './line-log.ts';
import type { StoreFiles } from '../disk/store-files.ts';

// Reads around damage in a log. An extent proves its lines wherever they are: at their place, or, after the file
// became longer or shorter in one place, as far off as the file's end is. Where an extent is damaged itself, the
// start of the next extent is unknown, so the lines of both are left out.

/** An extent that can be read; -1 is the start of the file. */
interface Known {
  readonly index: number;
  readonly extent: LogExtent;
}

/** A log whose files may be damaged, as described by their lengths and the last extent. */
export interface DamagedLog {
  readonly files: StoreFiles;
  readonly name: string;
  /** The last extent that can be read. */
  readonly last: Known;
  /** Bytes of the log, and of its extents. */
  readonly size: number;
  readonly extentBytes: number;
  /** The number of bytes by which the file is longer than it should be. */
  readonly shift: number;
  readonly damage: readonly LogDamage[];
}

/** The bytes of one or more extents, proved or not. */
export interface Stretch {
  readonly offset: number;
  /** The end of these bytes by their extents. */
  readonly end: number;
  readonly lines: number;
  /** Exactly the bytes that were written. Undefined when they no longer exist. */
  readonly proved: Uint8Array | undefined;
  /** True when the bytes are proved and not at their place. */
  readonly isMoved: boolean;
  readonly damage?: LogDamage;
}

const START: Known = { index: -1, extent: { endOffset: 0, endLine: 0, contentCrc: 0 } };
const PAGE_EXTENTS = 2048;
export const NOT_WRITTEN = 'these lines are not the ones that were written';

export async function openDamaged(files: StoreFiles, name: string): Promise<DamagedLog> {
  const extents = extentsFile(name);
  const extentBytes = await files.size(extents);
  const size = await files.size(name);
  const count = Math.floor(extentBytes / LOG_EXTENT_BYTES);
  const fits = (extent: LogExtent): boolean => goesOn(START.extent, extent);
  const last = (await lastKnown(files, name, { from: count - 1, above: -1, fits })) ?? START;
  const { endOffset } = last.extent;
  const damage: LogDamage[] = [];
  const known = (last.index + 1) * LOG_EXTENT_BYTES;
  if (known !== extentBytes || known === 0) {
    const what = known === 0 ? 'the extents are gone' : 'the last extents are damaged';
    damage.push({ file: extents, offset: known, bytes: extentBytes - known, what });
  }
  if (size !== endOffset) {
    const offset = Math.min(size, endOffset);
    const what = `the log should have ${endOffset} bytes`;
    damage.push({ file: name, offset, bytes: size - offset, what });
  }
  const shift = known === extentBytes ? size - endOffset : 0;
  return { files, name, last, size, extentBytes, shift, damage };
}

export interface LineRange {
  readonly from: number;
  readonly limit: number;
}

/** Undefined when there is no such log. */
export async function salvageLog(
  writer: StateWriter,
  name: string,
  range: LineRange,
): Promise<SalvagedLog | undefined> {
  // Between two groups nothing moves, so apparent damage is real.
  return writer.exclusively(async () => {
    if (!(await writer.core.hasLog(name))) return undefined;
    return salvagePage(await openDamaged(writer.core.files, name), range);
  });
}

export async function salvagePage(
  log: DamagedLog,
  { from, limit }: LineRange,
): Promise<SalvagedLog> {
  const { endLine: lines, endOffset: bytes } = log.last.extent;
  const end = Math.min(lines, from + limit);
  const page: (string | LogDamage)[] = [];
  if (from < end) {
    for await (const { first, stretch } of walkStretches(log, from, end)) {
      const begin = Math.max(0, from - first);
      page.push(...linesOf(stretch).slice(begin, end - first));
    }
  }
  return { lines, bytes, page, damage: log.damage };
}

/** Reads a log up to line `end`, from the extent that has line `from`. */
export async function* walkStretches(
  log: DamagedLog,
  from: number,
  end: number,
): AsyncGenerator<{ first: number; stretch: Stretch }, void, undefined> {
  let before = await knownBefore(log, from);
  while (before.extent.endLine < end) {
    const next = await nextKnown(log, before);
    yield { first: before.extent.endLine, stretch: await readStretch(log, before, next) };
    before = next;
  }
}

function linesOf({ proved, damage, lines }: Stretch): readonly (string | LogDamage)[] {
  if (proved !== undefined) return decodeUtf8(proved).split('\n').slice(0, -1);
  return Array.from({ length: lines }, () => damage as LogDamage);
}

async function readStretch(log: DamagedLog, before: Known, next: Known): Promise<Stretch> {
  const { files, name, shift } = log;
  const offset = before.extent.endOffset;
  const end = next.extent.endOffset;
  const lines = next.extent.endLine - before.extent.endLine;
  const place = { offset, end, lines, isMoved: false };
  if (next.index > before.index + 1) {
    const at = (before.index + 1) * LOG_EXTENT_BYTES;
    const bytes = next.index * LOG_EXTENT_BYTES - at;
    const what = 'what these extents prove is not known';
    const damage = { file: extentsFile(name), offset: at, bytes, what };
    return { ...place, proved: undefined, damage };
  }
  const there = await files.read(name, offset, end - offset);
  if (isProved(there, next.extent, end - offset, lines)) return { ...place, proved: there };
  if (shift !== 0 && offset + shift >= 0) {
    const proved = await files.read(name, offset + shift, end - offset);
    if (isProved(proved, next.extent, end - offset, lines)) {
      return { ...place, proved, isMoved: true };
    }
  }
  const damage = { file: name, offset, bytes: there.length, what: NOT_WRITTEN };
  return { ...place, proved: undefined, damage };
}

function isProved(
  bytes: Uint8Array,
  { contentCrc }: LogExtent,
  length: number,
  lines: number,
): boolean {
  if (bytes.length !== length || crc32(bytes) !== contentCrc) return false;
  let count = 0;
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) count += 1;
  return count === lines && bytes.at(-1) === 10;
}

/** The last readable extent that ends at or before line `line`. */
async function knownBefore({ files, name, last }: DamagedLog, line: number): Promise<Known> {
  let before = START;
  // No extent after `before` and up to `floor` can be read.
  let floor = -1;
  let high = last.index;
  while (high - floor > 1) {
    const middle = floor + Math.floor((high - floor) / 2);
    const fits = (extent: LogExtent): boolean =>
      goesOn(before.extent, extent) && goesOn(extent, last.extent);
    const known = await lastKnown(files, name, { from: middle, above: floor, fits });
    if (known === undefined) floor = middle;
    else if (known.extent.endLine > line) high = known.index;
    else {
      before = known;
      floor = middle;
    }
  }
  return before;
}

/** The extent that ends next: the first one up to the last that continues from `before`. */
async function nextKnown({ files, name, last }: DamagedLog, before: Known): Promise<Known> {
  let index = before.index + 1;
  for (let count = 1; index < last.index; count = PAGE_EXTENTS) {
    const page = await readExtents(files, name, index, Math.min(count, last.index - index));
    const found = page.find(
      ({ extent }) => goesOn(before.extent, extent) && goesOn(extent, last.extent),
    );
    if (found !== undefined) return found;
    index += count;
  }
  return last;
}

function goesOn(a: LogExtent, b: LogExtent): boolean {
  return a.endLine < b.endLine && a.endOffset < b.endOffset;
}

/** The first readable and fitting extent from `from` downwards. Undefined when there is none above `above`. */
async function lastKnown(
  files: StoreFiles,
  name: string,
  range: {
    readonly from: number;
    readonly above: number;
    readonly fits: (extent: LogExtent) => boolean;
  },
): Promise<Known | undefined> {
  let end = range.from + 1;
  for (let count = 1; end > range.above + 1; count = PAGE_EXTENTS) {
    const first = Math.max(range.above + 1, end - count);
    const page = await readExtents(files, name, first, end - first);
    const found = page.findLast(({ extent }) => range.fits(extent));
    if (found !== undefined) return found;
    end = first;
  }
  return undefined;
}

async function readExtents(
  files: StoreFiles,
  name: string,
  first: number,
  count: number,
): Promise<Known[]> {
  const offset = first * LOG_EXTENT_BYTES;
  const bytes = await files.read(extentsFile(name), offset, count * LOG_EXTENT_BYTES);
  return Array.from({ length: count }, (_, at) => {
    const record = bytes.subarray(at * LOG_EXTENT_BYTES, (at + 1) * LOG_EXTENT_BYTES);
    const extent = decodeLogExtent(record);
    return extent === undefined ? [] : [{ index: first + at, extent }];
  }).flat();
}
