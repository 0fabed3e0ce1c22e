import { decodeUtf8 } from '../../../base/text.ts';
import { crc32 } from '../../../format/bytes.ts';
import {
  decodeLogExtent,
  encodeLogExtent,
  LOG_EXTENT_BYTES,
  type LogExtent,
} from '../../../format/log-extent.ts';
import type { LogDamage, SalvagedLog } from '../../rows.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Quarantine } from '../truth/quarantine.ts';
import type { StateWriter } from '../truth/state.ts';
import { extentsFile, NOT_WRITTEN, START } from './line-log.ts';

// Reads around damage in a log. An extent proves its lines wherever they are: at their place, or, after the file
// became longer or shorter in one place, as far off as the file's end is. Where an extent is damaged itself, the
// start of the next extent is unknown, so the lines of both are left out.

const PIECE_BYTES = 1024 * 1024;

/** The most spaces that a repair puts in the place of missing lines. */
const PADDING_BYTES_MAX = 1024 ** 3;

const SPACE = 0x20;

const LINE_FEED = 0x0a;

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

const BEGIN: Known = { index: -1, extent: START };
const PAGE_EXTENTS = 2048;

export async function openDamaged(files: StoreFiles, name: string): Promise<DamagedLog> {
  const extents = extentsFile(name);
  const extentBytes = await files.size(extents);
  const size = await files.size(name);
  const count = Math.floor(extentBytes / LOG_EXTENT_BYTES);
  const fits = (extent: LogExtent): boolean => goesOn(START, extent);
  const last = (await lastKnown(files, name, { from: count - 1, above: -1, fits })) ?? BEGIN;
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
      page.push(...linesOf(stretch, Math.max(0, from - first), end - first));
    }
  }
  return { lines, bytes, page, damage: log.damage };
}

/** Reads a log up to line `end`, from the extent that has line `from`. */
async function* walkStretches(
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

function linesOf(
  { proved, damage, lines }: Stretch,
  from: number,
  end: number,
): readonly (string | LogDamage)[] {
  if (proved !== undefined) return decodeUtf8(proved).split('\n').slice(0, -1).slice(from, end);
  return Array.from({ length: Math.min(lines, end) - from }, () => damage as LogDamage);
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
  let before = BEGIN;
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

/** No line is empty, so there are fewer lines than bytes. */
function goesOn(a: LogExtent, b: LogExtent): boolean {
  const lines = b.endLine - a.endLine;
  return lines > 0 && lines < b.endOffset - a.endOffset;
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

// Makes a log fit its extents again, so that it can be appended to.
// - Lines that moved go back to their places. Bytes that cannot be proved keep their place, and stay unproved.
// - Bytes that no extent covers stay where they are, under an extent whose checksum they do not have.
// - Bytes are set aside before they are overwritten. Each file is replaced as a whole: a crash leaves the old one
//   or the new one, and the next run finds what is left to do.

export async function mendLog(
  writer: StateWriter,
  name: string,
  quarantine: Quarantine,
): Promise<void> {
  const { core } = writer;
  const look = async (): Promise<DamagedLog | undefined> => {
    const log = (await core.hasLog(name)) ? await openDamaged(core.files, name) : undefined;
    return log?.damage.length === 0 ? undefined : log;
  };
  if ((await writer.exclusively(look)) === undefined) return;
  // No earlier frame may be replayed over the mended files.
  await writer.checkpoint();
  await writer.exclusively(async () => {
    const log = await look();
    if (log === undefined) return;
    const { last, size, extentBytes } = log;
    const { endOffset } = last.extent;
    // So many spaces are no log. Its lines are lost, and a backup has them.
    if (endOffset - size > PADDING_BYTES_MAX) return;
    const isOff = size < endOffset || (await isMoved(log));
    if (isOff) await rewriteLines(log, quarantine);
    const hole = size > endOffset && !isOff ? await digHole(log, quarantine) : [];
    if (hole.length === 0 && extentBytes === (last.index + 1) * LOG_EXTENT_BYTES) return;
    await core.files.replace(extentsFile(name), extentsOf(log, hole));
  });
}

/** Whether bytes were added or lost before the last line, and not behind it. */
async function isMoved(log: DamagedLog): Promise<boolean> {
  const { endLine } = log.last.extent;
  if (log.shift === 0 || endLine === 0) return false;
  for await (const { stretch } of walkStretches(log, endLine - 1, endLine)) return stretch.isMoved;
  return false;
}

async function rewriteLines(log: DamagedLog, quarantine: Quarantine): Promise<void> {
  const { files, name, size } = log;
  const offset = await firstTouched(log);
  const what = 'these bytes stood here before the log was mended';
  const place = { file: name, offset, length: Math.max(0, size - offset), id: name };
  await quarantine.setAside([{ ...place, what, severity: 'lost' }], Date.now());
  await files.replace(name, mendedLines(log));
}

async function firstTouched(log: DamagedLog): Promise<number> {
  const { endLine, endOffset } = log.last.extent;
  for await (const { stretch } of walkStretches(log, 0, endLine)) {
    if (stretch.isMoved || stretch.proved === undefined) return stretch.offset;
  }
  return endOffset;
}

async function* mendedLines(log: DamagedLog): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const { stretch } of walkStretches(log, 0, log.last.extent.endLine)) {
    if (stretch.proved === undefined) yield* unproved(log, stretch);
    else yield stretch.proved;
  }
}

/** The bytes at this place, padded to the right length. */
async function* unproved(
  { files, name }: DamagedLog,
  { offset, end }: Stretch,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = offset; at < end; at += PIECE_BYTES) {
    const bytes = new Uint8Array(Math.min(PIECE_BYTES, end - at)).fill(SPACE);
    bytes.set(await files.read(name, at, bytes.length));
    if (at + bytes.length === end) bytes[bytes.length - 1] = LINE_FEED;
    yield bytes;
  }
}

/** Makes an extent for the bytes behind the last one. Their lines have numbers, and are never returned. */
async function digHole(log: DamagedLog, quarantine: Quarantine): Promise<Uint8Array[]> {
  const { files, name, size, last } = log;
  const { endOffset: offset, endLine } = last.extent;
  const place = { file: name, offset, length: size - offset, id: name };
  await quarantine.setAside([{ ...place, what: NOT_WRITTEN, severity: 'lost' }], Date.now());
  let [crc, lines, end] = [0, endLine, LINE_FEED];
  for await (const piece of readPieces(files, name, { from: offset, to: size })) {
    crc = crc32(piece, crc);
    for (const byte of piece) if (byte === LINE_FEED) lines += 1;
    end = piece.at(-1) ?? end;
  }
  if (end === LINE_FEED) {
    return [encodeLogExtent({ endOffset: size, endLine: lines, contentCrc: ~crc >>> 0 })];
  }
  // A torn line ends here, too.
  const feed = Uint8Array.of(LINE_FEED);
  await files.replace(name, joined(readPieces(files, name, { from: 0, to: size }), [feed]));
  const contentCrc = ~crc32(feed, crc) >>> 0;
  return [encodeLogExtent({ endOffset: size + 1, endLine: lines + 1, contentCrc })];
}

function extentsOf(
  { files, name, last }: DamagedLog,
  more: readonly Uint8Array[],
): AsyncIterable<Uint8Array> {
  const to = (last.index + 1) * LOG_EXTENT_BYTES;
  return joined(readPieces(files, extentsFile(name), { from: 0, to }), more);
}

async function* joined(
  pieces: AsyncIterable<Uint8Array>,
  more: readonly Uint8Array[],
): AsyncGenerator<Uint8Array, void, undefined> {
  yield* pieces;
  yield* more;
}

async function* readPieces(
  files: StoreFiles,
  name: string,
  { from, to }: { readonly from: number; readonly to: number },
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = from; at < to; at += PIECE_BYTES) {
    yield await files.read(name, at, Math.min(PIECE_BYTES, to - at));
  }
}
