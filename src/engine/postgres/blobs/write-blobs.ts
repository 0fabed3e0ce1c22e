import { hashToBytes } from '../../../base/hash.ts';
import { BlobCodec } from '../../../format/blob-record.ts';
import { prepared } from '../../../postgres/sql.ts';
import type { Statement } from '../../../postgres/sql.ts';
import type { Transaction } from '../../../postgres/transaction.ts';
import type { Draft } from '../../plan/draft.ts';
import type { PreparedBlob } from '../../../format/blob-record.ts';
import type { Totals } from '../feed/clock.ts';

/** All bytes are sent as one value, and the server cuts it up: a list would be sent as hex digits. */
const PUT_BLOBS = prepared('put-blobs')`
  INSERT INTO quipu.blobs (hash, codec, size, stored_size, bytes, upload, put_seq, put_at)
  SELECT b.hash, b.codec, b.size, b.stored, CASE WHEN b.upload IS NULL THEN substr($1::bytea, b.start, b.stored::int) END,
    b.upload, $2::bigint, $3::bigint
  FROM unnest($4::bytea[], $5::smallint[], $6::bigint[], $7::bigint[], $8::int[], $9::uuid[])
    AS b(hash, codec, size, stored, start, upload)`;

const TOUCH_BLOBS = prepared('touch-blobs')`
  UPDATE quipu.blobs SET put_seq = $1, put_at = $2 WHERE hash = ANY($3::bytea[])`;

const FINISH_UPLOADS = prepared('finish-uploads')`
  DELETE FROM quipu.uploads WHERE id = ANY($1::uuid[])`;

const PUT_SHA256S = prepared('put-sha256s')`
  INSERT INTO quipu.sha256s (sha256, hash) SELECT * FROM unnest($1::bytea[], $2::bytea[])
  ON CONFLICT (sha256) DO UPDATE SET hash = excluded.hash`;

export const NOTE_ERASED: Statement = prepared('note-erased')`
  INSERT INTO quipu.erased_blobs (hash) SELECT unnest($1::bytea[]) ON CONFLICT DO NOTHING`;

/** A blob in parts: its sizes, and the upload that holds the parts. */
export interface UploadedBlob extends PreparedBlob {
  readonly upload: string;
  readonly storedBytes: number;
}

export interface BlobWrites {
  readonly draft: Draft;
  readonly seq: number;
  readonly totals: Totals;
  /** Blobs that were put and already existed: their writers may be about to refer to them. */
  readonly touched: readonly PreparedBlob['hash'][];
}

export function writeBlobs(
  transaction: Transaction,
  { draft, seq, totals, touched }: BlobWrites,
): void {
  const blobs = [...draft.blobs.entries()].map(([, blob]) => blob);
  if (blobs.length > 0) putBlobs(transaction, blobs, [seq, draft.nowMs]);
  for (const blob of blobs) {
    totals.blobs += 1;
    totals.blobBytes += blob.compressed.rawLength;
    totals.storedBytes += storedBytesOf(blob);
  }
  const erased = [...draft.erased.entries()].map(([hash]) => hashToBytes(hash));
  if (erased.length > 0) transaction.send(NOTE_ERASED, [erased]);
  const aliases = [...draft.sha256.entries()];
  if (aliases.length > 0) {
    const names = aliases.map(([sha256]) => Buffer.from(sha256, 'hex'));
    transaction.send(PUT_SHA256S, [names, aliases.map(([, hash]) => hashToBytes(hash))]);
  }
  if (touched.length > 0) {
    transaction.send(TOUCH_BLOBS, [seq, draft.nowMs, touched.map(hashToBytes)]);
  }
}

function putBlobs(
  transaction: Transaction,
  blobs: readonly PreparedBlob[],
  when: readonly [number, number],
): void {
  const starts: number[] = [];
  let start = 1;
  for (const blob of blobs) {
    starts.push(start);
    if (uploadOf(blob) === null) start += blob.compressed.stored.length;
  }
  const inline = blobs.filter((blob) => uploadOf(blob) === null);
  transaction.send(PUT_BLOBS, [
    Buffer.concat(inline.map(({ compressed }) => compressed.stored)),
    ...when,
    blobs.map(({ hash }) => hashToBytes(hash)),
    blobs.map(({ compressed }) => compressed.codec),
    blobs.map(({ compressed }) => compressed.rawLength),
    blobs.map(storedBytesOf),
    starts,
    blobs.map(uploadOf),
  ]);
  const uploads = blobs.map(uploadOf).filter((upload) => upload !== null);
  if (uploads.length > 0) transaction.send(FINISH_UPLOADS, [uploads]);
}

function storedBytesOf(blob: PreparedBlob): number {
  return isUploaded(blob) ? blob.storedBytes : blob.compressed.stored.length;
}

function uploadOf(blob: PreparedBlob): string | null {
  return isUploaded(blob) ? blob.upload : null;
}

function isUploaded(blob: PreparedBlob): blob is UploadedBlob {
  return blob.compressed.codec === BlobCodec.chunks;
}
