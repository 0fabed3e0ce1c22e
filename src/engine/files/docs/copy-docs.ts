import { encodeUtf8 } from '../../../base/text.ts';
import { decodeDocRecord, DOC_HEADER_BYTES, docRecordLength } from '../../../format/doc-record.ts';
import { decodeFileHeader, OPEN_FILE_HEADER_BYTES } from '../../../format/file-header.ts';
import { corrupt } from '../disk/io-error.ts';
import { DOCS_FILE } from '../names.ts';
import { readWhole } from './doc-log.ts';
import type { CopyJob } from '../backup/copy-job.ts';

const PIECE_BYTES = 1024 * 1024;

/** The place of the last record of each published name. Undefined: the document was removed. */
export type Published = Map<
  string,
  { readonly offset: number; readonly length: number } | undefined
>;

/** Copies documents between two lengths of docs.log, and notes the published files that they change. */
export async function copyDocs(
  { from, into, progress }: CopyJob,
  { start, end }: { start: number; end: number },
  published: Published,
): Promise<void> {
  let at = start;
  let pieceBytes = PIECE_BYTES;
  if (at === 0) {
    const header = await from.read(DOCS_FILE, 0, OPEN_FILE_HEADER_BYTES);
    if (decodeFileHeader(header) === undefined) {
      throw corrupt(DOCS_FILE, 0, 'the header of the file is damaged');
    }
    await into.put(DOCS_FILE, 0, header);
    at = OPEN_FILE_HEADER_BYTES;
  }
  while (at < end) {
    const piece = await from.read(DOCS_FILE, at, Math.min(pieceBytes, end - at));
    const whole = takeRecords(piece, at, published);
    if (whole > 0) {
      await into.put(DOCS_FILE, at, piece.subarray(0, whole));
      at += whole;
      pieceBytes = PIECE_BYTES;
      progress?.(at - start, end - start, DOCS_FILE);
    } else if (at + piece.length < end && piece.length === pieceBytes) {
      pieceBytes *= 2;
    } else {
      throw corrupt(DOCS_FILE, at, 'the document record here is damaged');
    }
  }
}

/** Brings the plain file of that name to the last published state of the document. */
export async function copyPublished(
  { from, into }: CopyJob,
  name: string,
  place: { readonly offset: number; readonly length: number } | undefined,
): Promise<void> {
  if (place === undefined) {
    await into.remove(name);
    return;
  }
  const record = decodeDocRecord(await from.read(DOCS_FILE, place.offset, place.length));
  const content = record && (await readWhole(from, record, place.offset)).content;
  if (content === undefined) {
    throw corrupt(DOCS_FILE, place.offset, 'the document record here is damaged');
  }
  await into.replace(name, encodeUtf8(content));
}

function takeRecords(piece: Uint8Array, start: number, published: Published): number {
  let at = 0;
  while (at < piece.length) {
    const length = docRecordLength(piece.subarray(at, at + DOC_HEADER_BYTES));
    if (length === undefined || at + length > piece.length) break;
    const record = decodeDocRecord(piece.subarray(at, at + length));
    if (record === undefined) break;
    // This is the same rule as when a document is written.
    if (record.content === undefined) published.set(record.name, undefined);
    else if (record.published) published.set(record.name, { offset: start + at, length });
    at += length;
  }
  return at;
}
