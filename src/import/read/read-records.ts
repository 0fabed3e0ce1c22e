import { isUtf8 } from 'node:buffer';
import { open, mkdtemp, rm, type FileHandle } from 'node:fs/promises';
import { createReadStream, createWriteStream } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { hashBytes } from '../../base/hash.ts';
import { LineSplitter, parseJsonLine, type Line } from '../../base/json-lines.ts';
import { parseRecord } from '../source/walk-folder.ts';
import type { SourceFile, SourceRecord } from '../source/source.ts';
import { ListSplitter } from './list-splitter.ts';
import { messageOf } from '../../base/errors.ts';
import { createUnzstd } from '../../base/compress.ts';

/** One piece of a file, in its order. `end` is the position behind it. */
export type Read =
  | { readonly is: 'record'; readonly record: SourceRecord; readonly end: number }
  /** Bytes that are no record. `replaced`: they are no UTF-8, and so the text has replacement characters. */
  | { readonly is: 'bad'; readonly raw: string; readonly replaced: boolean; readonly end: number }
  /** A line that is too long to be held in memory. */
  | { readonly is: 'long'; readonly start: number; readonly end: number }
  /** The last line has no end yet, and is no record. */
  | { readonly is: 'tail'; readonly bytes: number };

/** Findings about the bytes. */
export interface ReadNotes {
  /** Lines with bytes that are not UTF-8. */
  replaced: number;
  /** Records behind a torn one, or glued together, on one line. */
  recovered: number;
}

/** A longer line is kept as a blob, unread. */
const LINE_BYTES_MAX: number = 32 * 1024 * 1024;
const PIECE_BYTES = 1024 * 1024;
/** So many lines are handed out at once: what is made of them takes far more memory. */
const BATCH_LINES = 4000;

/** Reads a file from a position on. The file may grow meanwhile, and is not locked. */
export async function* readRecords(
  file: SourceFile,
  from: number,
  isRecord: (value: object) => boolean,
  notes: ReadNotes,
): AsyncGenerator<readonly Read[]> {
  if (file.records !== undefined) {
    yield* readValues(file.records());
    return;
  }
  await using unpacked = await unpack(file);
  const handle = await open(unpacked.path, 'r');
  try {
    const splitter =
      file.form === 'lines'
        ? new LineSplitter(from, LINE_BYTES_MAX)
        : new ListSplitter(file.form, LINE_BYTES_MAX);
    const start = file.form === 'lines' ? from : 0;
    for await (const piece of pieces(handle, start)) {
      let batch: Line[] = [];
      for (const line of splitter.take(piece)) {
        if (batch.push(line) < BATCH_LINES) continue;
        yield batch.flatMap((item) => parse(item, isRecord, notes));
        batch = [];
      }
      yield batch.flatMap((item) => parse(item, isRecord, notes));
    }
    const last = splitter.end();
    if (last !== undefined) yield parse(last, isRecord, notes);
  } finally {
    await handle.close();
  }
}

async function* pieces(handle: FileHandle, from: number): AsyncGenerator<Uint8Array> {
  for (let at = from; ;) {
    // Lines keep views of the piece, so each piece is a buffer of its own.
    const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
    const { bytesRead } = await handle.read(piece, 0, PIECE_BYTES, at);
    if (bytesRead === 0) return;
    yield piece.subarray(0, bytesRead);
    at += bytesRead;
  }
}

async function* readValues(values: AsyncIterable<object>): AsyncGenerator<readonly Read[]> {
  let offset = 0;
  for await (const value of values) {
    const record = { value: value as SourceRecord['value'], raw: JSON.stringify(value), offset };
    offset += 1;
    yield [{ is: 'record', record, end: offset }];
  }
}

function parse(line: Line, isRecord: (value: object) => boolean, notes: ReadNotes): Read[] {
  const { start, end, terminated, bytes } = line;
  if (bytes === undefined) return [{ is: 'long', start, end }];
  const replaced = !isUtf8(bytes);
  const decoded = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  const text = start === 0 && decoded.charCodeAt(0) === 0xfeff ? decoded.slice(1) : decoded;
  const { records, lost } = parseJsonLine(text, isRecord, parseRecord);
  if (lost !== '' && !terminated && records.length === 0) {
    return [{ is: 'tail', bytes: bytes.length }];
  }
  if (replaced) notes.replaced += 1;
  if (lost !== '' || records.length > 1) notes.recovered += records.length;
  const reads: Read[] = records.map(({ value, raw }) => ({
    is: 'record',
    record: { value, raw, offset: start },
    end,
  }));
  // The torn part stands before the record that was saved from its line.
  if (lost !== '') {
    const bad: Read = { is: 'bad', raw: lost, replaced, end };
    reads.splice(Math.max(0, reads.length - 1), 0, bad);
  }
  return reads;
}

const ENDS_BYTES = 1024;

/** Of the beginning of a file and of what stands before `offset`. Empty if the file cannot be read. */
export async function fingerprint(path: string, offset: number): Promise<string> {
  const handle = await open(path, 'r').catch(() => undefined);
  if (handle === undefined) return '';
  try {
    const length = Math.min(ENDS_BYTES, offset);
    const ends = Buffer.alloc(2 * length);
    const first = await handle.read(ends, 0, length, 0);
    const last = await handle.read(ends, length, length, offset - length);
    return first.bytesRead + last.bytesRead < 2 * length ? '' : hashBytes(ends).slice(0, 32);
  } finally {
    await handle.close();
  }
}

/** A file to read by position. Disposing of it removes what was unpacked. */
interface Unpacked extends AsyncDisposable {
  readonly path: string;
}

/** A packed file is damaged, or is gone. */
export class NotUnpacked extends Error {}

/** A session is not larger. A few megabytes of zstd can be made to unpack to more than any disk has. */
const UNPACKED_BYTES_MAX = 4 * 1024 ** 3;

/** A packed file is unpacked into a folder of its own, so that memory stays bounded whatever its size. */
export async function unpack(
  { path, packed }: Pick<SourceFile, 'path' | 'packed'>,
  maxBytes: number = UNPACKED_BYTES_MAX,
): Promise<Unpacked> {
  if (packed === undefined) return { path, [Symbol.asyncDispose]: async () => undefined };
  const folder = await mkdtemp(join(tmpdir(), 'quipu-import-'));
  const to = join(folder, 'unpacked');
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const unpacker = packed === 'zstd' ? createUnzstd() : createGunzip();
    const bounded = (pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> =>
      upTo(pieces, maxBytes);
    const file = createWriteStream(to, { mode: 0o600 });
    await pipeline(createReadStream(path), unpacker, bounded, file);
  } catch (error) {
    await remove();
    throw new NotUnpacked(messageOf(error));
  }
  return { path: to, [Symbol.asyncDispose]: remove };
}

async function* upTo(
  pieces: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let left = maxBytes;
  for await (const piece of pieces) {
    left -= piece.length;
    if (left < 0) throw new Error(`it unpacks to more than ${maxBytes} bytes`);
    yield piece;
  }
}
