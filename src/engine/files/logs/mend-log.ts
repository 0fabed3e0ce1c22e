import type { StateWriter } from '../truth/state.ts';
import { crc32 } from '../../../format/bytes.ts';
import { LOG_EXTENT_BYTES, encodeLogExtent } from '../../../format/log-extent.ts';
import { extentsFile } from './line-log.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { type DamagedLog, NOT_WRITTEN, openDamaged, walkStretches } from './salvage-log.ts';
import type { Quarantine } from '../truth/quarantine.ts';

// Makes a log fit its extents again, so that it can be appended to.
// - Lines that moved go back to their places. Bytes that cannot be proved keep their place, and stay unproved.
// - Bytes that no extent covers stay where they are, under an extent whose checksum they do not have.
// - Bytes are set aside before they are overwritten. Each file is replaced as a whole: a crash leaves the old one
//   or the new one, and the next run finds what is left to do.

const PIECE_BYTES = 1024 * 1024;
const SPACE = 0x20;
const LINE_FEED = 0x0a;

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
  await files.replace(name, linesOf(log));
}

async function firstTouched(log: DamagedLog): Promise<number> {
  const { endLine, endOffset } = log.last.extent;
  for await (const { stretch } of walkStretches(log, 0, endLine)) {
    if (stretch.isMoved || stretch.proved === undefined) return stretch.offset;
  }
  return endOffset;
}

async function* linesOf(log: DamagedLog): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const { stretch } of walkStretches(log, 0, log.last.extent.endLine)) {
    yield stretch.proved ?? (await unproved(log, stretch.offset, stretch.end));
  }
}

/** The bytes at this place, padded to the right length. */
async function unproved(log: DamagedLog, offset: number, end: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(end - offset).fill(SPACE);
  bytes.set(await log.files.read(log.name, offset, end - offset));
  bytes[bytes.length - 1] = LINE_FEED;
  return bytes;
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
