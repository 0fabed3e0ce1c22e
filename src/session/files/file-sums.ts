import { basename, dirname, join } from 'node:path';
import { crc32 } from '../../format/bytes.ts';
import type { Io, IoFile } from '../../engine/io.ts';
import {
  SUM_RECORD_BYTES,
  decodeSumRange,
  encodeSumRange,
  encodeSumsHead,
  isSumsHead,
  type SumRange,
} from '../../format/file-sums.ts';
import { lockOf } from './session-names.ts';
import {
  isErrno,
  makeFolders,
  readWhole,
  writeAll,
  writeWhole,
  withFileLock,
  withOpen,
} from './write-file.ts';

// Checksums of the bytes of a file when we wrote or saw them. Session files and artifacts are plain files that other
// programs may write to, so the checksums stand beside them, and never in them.
// Invariants
// - The first range is the first line and no more, so that the others can be taken along when a header changes.
// - Only whole lines are covered: bytes that a crash or another program leaves unfinished may be cut away again.
// - Checksums are written after the bytes are durable, and are not synced: a lost checksum is made again from the bytes
//   seen then. No write of bytes ever fails because of them.

/** The name of the folder, beside the files. */
export const SUMS_FOLDER = '.sums';
/** A range grows with appended bytes until it has this many. */
const RANGE_BYTES = 64 * 1024;
const LF = 0x0a;

export interface Sums {
  readonly ranges: readonly SumRange[];
  /** True when the file of checksums is there and cannot be read as one. */
  readonly damaged: boolean;
}

export const NO_SUMS: Sums = { ranges: [], damaged: false };

export interface Span {
  readonly from: number;
  readonly to: number;
}

export function sumsOf(path: string): string {
  return join(dirname(path), SUMS_FOLDER, basename(path));
}

export function coveredBy({ ranges }: Sums): number {
  return ranges.at(-1)?.end ?? 0;
}

export async function readSums(io: Io, path: string): Promise<Sums> {
  const bytes = await readWhole(io, sumsOf(path));
  if (bytes === undefined || bytes.length === 0) {
    return NO_SUMS;
  }
  const ranges: SumRange[] = [];
  let at = SUM_RECORD_BYTES;
  for (; at + SUM_RECORD_BYTES <= bytes.length; at += SUM_RECORD_BYTES) {
    const range = decodeSumRange(bytes.subarray(at, at + SUM_RECORD_BYTES));
    if (range === undefined || range.end <= (ranges.at(-1)?.end ?? 0)) break;
    ranges.push(range);
  }
  // A last record that a power cut tore does not count.
  const isWhole = isSumsHead(bytes.subarray(0, SUM_RECORD_BYTES));
  return { ranges, damaged: !isWhole || at + SUM_RECORD_BYTES < bytes.length };
}

/** Covers the new bytes at the end of a file. `lines` false: all of the file is one finished text. */
export async function coverFile(io: Io, path: string, lines = true): Promise<void> {
  const sums = await readSums(io, path);
  const from = coveredBy(sums);
  await withOpen(io, path, 'read', async (file) => {
    const size = await file.size();
    const to = lines ? await endOfLines(file, { from, to: size }) : size;
    if (sums.damaged || to <= from) return;
    const last = sums.ranges.length > 1 ? sums.ranges.at(-1) : undefined;
    const begin = sums.ranges.at(-2)?.end ?? 0;
    const grows = last !== undefined && last.end - begin < RANGE_BYTES ? last : undefined;
    const added = await sumUp(file, { from, to }, grows && { begin, sum: grows.sum });
    const kept = sums.ranges.length - (grows === undefined ? 0 : 1);
    const place = sumsOf(path);
    await makeFolders(io, dirname(place));
    await withOpen(io, place, 'create', async (target) => {
      if (sums.ranges.length === 0) await writeAll(target, encodeSumsHead(), 0);
      const bytes = Buffer.concat(added.map(encodeSumRange));
      await writeAll(target, bytes, SUM_RECORD_BYTES + kept * SUM_RECORD_BYTES);
    });
  });
}

/** `grows`: the last range, which takes more bytes; the place where it begins and its checksum so far. */
async function sumUp(
  file: IoFile,
  { from, to }: Span,
  grows: { readonly begin: number; readonly sum: number } | undefined,
): Promise<SumRange[]> {
  const ranges: SumRange[] = [];
  let at = from;
  if (from === 0) {
    at = Math.min(to, await endOfFirstLine(file, to));
    ranges.push({ end: at, sum: await sumOf(file, { from: 0, to: at }) });
  } else if (grows !== undefined) {
    at = Math.min(to, Math.max(from, grows.begin + RANGE_BYTES));
    ranges.push({ end: at, sum: await sumOf(file, { from, to: at }, grows.sum) });
  }
  while (at < to) {
    const end = Math.min(to, at + RANGE_BYTES);
    ranges.push({ end, sum: await sumOf(file, { from: at, to: end }) });
    at = end;
  }
  return ranges;
}

/** Returns every span between `from` and `to` that has changed, joined where spans touch. */
export async function findChanged(file: IoFile, { ranges }: Sums, within: Span): Promise<Span[]> {
  const changed: { from: number; to: number }[] = [];
  const size = await file.size();
  let start = 0;
  for (const { end, sum } of ranges) {
    const span = { from: start, to: end };
    start = end;
    if (end <= within.from || span.from >= within.to) continue;
    if (end <= size && (await sumOf(file, span)) === sum) continue;
    const last = changed.at(-1);
    if (last?.to === span.from) last.to = end;
    else changed.push({ ...span });
  }
  return changed;
}

/**
 * Writes the checksums of a file that has these lines in the place of the first line of another one, and the same bytes
 * after it. Spans that had changed there count as changed here, too.
 */
export async function carrySums(
  io: Io,
  { from, to }: { readonly from: string; readonly to: string },
  lines: readonly Uint8Array[],
): Promise<void> {
  const { ranges } = await readSums(io, from);
  const [first] = ranges;
  if (first === undefined) return;
  let at = 0;
  const begin = lines.map((line) => ({ end: (at += line.length), sum: crc32(line) }));
  const rest = ranges.slice(1).map(({ end, sum }) => ({ end: end - first.end + at, sum }));
  const place = sumsOf(to);
  await makeFolders(io, dirname(place));
  const records = [...begin, ...rest].map(encodeSumRange);
  const bytes = Buffer.concat([encodeSumsHead(), ...records]);
  await writeWhole(io, place, (file) => writeAll(file, bytes, 0));
}

/** Also removes the folder, when these were the last. */
export async function removeSums(io: Io, path: string): Promise<void> {
  const place = sumsOf(path);
  try {
    await io.remove(place);
    await io.removeFolder(dirname(place));
  } catch (error) {
    if (!['ENOENT', 'ENOTEMPTY', 'ENOTDIR'].some((code) => isErrno(error, code))) throw error;
  }
}

async function sumOf(file: IoFile, { from, to }: Span, seed = 0): Promise<number> {
  let sum = seed;
  for (let at = from; at < to;) {
    const piece = Buffer.allocUnsafe(Math.min(RANGE_BYTES, to - at));
    const got = await file.read(piece, at);
    if (got === 0) break;
    sum = crc32(piece.subarray(0, got), sum);
    at += got;
  }
  return sum;
}

async function endOfFirstLine(file: IoFile, size: number): Promise<number> {
  for (let at = 0; at < size; at += RANGE_BYTES) {
    const piece = Buffer.allocUnsafe(Math.min(RANGE_BYTES, size - at));
    const found = piece.subarray(0, await file.read(piece, at)).indexOf(LF);
    if (found !== -1) return at + found + 1;
  }
  return size;
}

/** The end of the last whole line of a part of a file. */
export async function endOfLines(file: IoFile, { from, to }: Span): Promise<number> {
  for (let end = to; end > from;) {
    const start = Math.max(from, end - RANGE_BYTES);
    const piece = Buffer.allocUnsafe(end - start);
    const found = piece.subarray(0, await file.read(piece, start)).lastIndexOf(LF);
    if (found !== -1) return start + found + 1;
    end = start;
  }
  return from;
}

/**
 * Accepts lines that others wrote as they are now. If that cannot be noted, the next call accepts them as they are
 * then.
 */
export async function coverSeen(io: Io, path: string): Promise<void> {
  try {
    const size = (await io.stat(path))?.size ?? 0;
    if (coveredBy(await readSums(io, path)) >= size) return;
    await withFileLock(io, lockOf(path), () => coverFile(io, path));
  } catch {
    // The folder cannot be written to, or the file has just been moved.
  }
}
